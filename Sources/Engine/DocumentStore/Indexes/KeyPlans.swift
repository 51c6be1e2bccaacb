// Plans for reading the fields of an index from records.

import ByteStore

/// The positions of an index's fields in all maps with one shape.
struct KeyPlan: Sendable {
  /// The plan of no shape.
  static let none = KeyPlan(shape: -1, slots: [])

  let shape: Int
  /// For each field, the slot of its first name; -1 if the shape does not have this name.
  let slots: [Int]
  /// The fields' slots as a set.
  let set: SlotSet

  init(shape: Int, slots: [Int]) {
    self.shape = shape
    self.slots = slots
    var set = SlotSet()
    for slot in slots where slot >= 0 { set.insert(slot) }
    self.set = set
  }
}

/// The form of an index's keys, and the plans for the shapes of its documents. Shared by all copies of the
/// index's definition.
final class KeyPlans: Sendable {
  /// How the value of a field is encoded in a key.
  struct Field: BitwiseCopyable {
    let isElement: Bool
    let isDescending: Bool
    /// Whether a missing value counts as null.
    let isNullable: Bool
    /// Whether the field is inside of another field.
    let isNested: Bool
  }

  private struct Known {
    /// The database that has the shapes.
    var origin: ShapeTable.Origin?
    var plans: [KeyPlan] = []
    var next = 0
  }

  /// The definition without its plans.
  let definition: IndexDefinition
  let fields: [Field]
  /// The names that lead to each field.
  let names: [[String]]
  let scope: IndexDefinition.Scope
  /// The encoded id of the collections.
  let group: [UInt8]
  let hasElements: Bool
  /// Whether a field is the document's id, which is not in records.
  let hasDocumentID: Bool
  private let known = Locked(Known())
  private static let knownMax = 8

  /// The plans of an index without fields.
  static let none = KeyPlans(IndexDefinition(unchecked: "", .collection, fields: []))

  /// The definition must not have plans yet.
  init(_ definition: IndexDefinition) {
    self.definition = definition
    fields = definition.fields.map { field in
      Field(
        isElement: field.part == .element, isDescending: field.part.direction == .descending,
        isNullable: field.part.isNullable, isNested: field.path.names.count > 1)
    }
    names = definition.fields.map(\.path.names)
    scope = definition.scope
    var group: [UInt8] = []
    DocumentKey.append(definition.collectionID, to: &group)
    self.group = group
    hasElements = definition.hasElements
    hasDocumentID = definition.fields.contains { $0.path == .documentID }
  }

  /// The plans for shapes of this database that were used last.
  func plans(of origin: ShapeTable.Origin?) -> [KeyPlan] {
    known.withLock { $0.origin === origin ? $0.plans : [] }
  }

  /// The plan of a shape. `place` is the place of the shape in the bytes of `shapes`.
  func plan(shape: Int, place: Int, shapes: ShapeTable) -> KeyPlan {
    let plan = known.withLock { known in
      known.origin === shapes.origin ? known.plans.first { $0.shape == shape } : nil
    }
    return plan ?? makePlan(shape: shape, place: place, shapes: shapes)
  }

  func makePlan(shape: Int, place: Int, shapes: ShapeTable) -> KeyPlan {
    let plan = KeyPlan(
      shape: shape, slots: names.map { ShapeBytes(shapes.bytes.rawSpan).slot(named: $0[0], place) ?? -1 })
    known.withLock { known in
      if known.origin !== shapes.origin { known = Known(origin: shapes.origin) }
      guard !known.plans.contains(where: { $0.shape == shape }) else { return }
      if known.plans.count < Self.knownMax {
        known.plans.append(plan)
      } else {
        known.plans[known.next] = plan
        known.next = (known.next + 1) % Self.knownMax
      }
    }
    return plan
  }
}

extension IndexDefinition.Part {
  fileprivate var isNullable: Bool {
    if case .valueOrNull = self { true } else { false }
  }
}

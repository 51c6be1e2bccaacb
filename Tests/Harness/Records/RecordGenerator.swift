// Generates random documents and mutations for the record campaign.
//
// Most documents have the names of one of a few templates, because maps get a shape only when their names
// occur again.

internal import DocumentStore

struct RecordGenerator {
  var random: SeededRandom
  private var values: DocumentGenerator
  private var templates: [[String]] = []

  private static let path = DocumentPath(unchecked: ["c", "d"])
  private static let names = [
    "a", "b", "c", "d", "m", "n", "aa", "a.b", "\u{E9}", "e\u{301}", "\0", "_", "_x", "\u{1F600}",
    "a name of many bytes", "visits",
  ]
  /// Names that a document from outside may have, and that a user cannot write.
  private static let reserved = ["", "__", "___", "__a__", "__a"]
  /// Lengths at which numbers in a table need more bytes.
  private static let lengths = [
    0, 1, 7, 8, 200, 253, 254, 255, 256, 257, 300, 65533, 65534, 65535, 65536, 70000,
  ]

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    values = DocumentGenerator(seed: SeededRandom.seed(seed, 1))
    templates = (0..<4).map { _ in (0..<1 + random.below(9)).map { _ in pick(Self.names) } }
    templates.append((0..<40).map { "name\($0)" })
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

  // MARK: Documents

  mutating func document(at time: StoredTimestamp) -> StoredDocument {
    let created = random.oneIn(2) ? time : StoredTimestamp(microseconds: time.microseconds - 77) ?? time
    return StoredDocument(path: Self.path, createTime: created, updateTime: time, fields: fields())
  }

  private mutating func fields() -> StoredMap {
    var fields = map(depth: 3)
    if random.oneIn(40) { fields["long"] = .string(String(repeating: "x", count: pick(Self.lengths))) }
    if random.oneIn(60) { fields["tower"] = tower(1 + random.below(20)) }
    if random.oneIn(60) { fields[pick(Self.reserved)] = .null }
    if random.oneIn(100) { fields["vector"] = .vector(Array(repeating: .nan, count: 2047 + random.below(3))) }
    if random.oneIn(200) { for index in 0..<300 { fields["\(index)"] = .integer(Int64(index)) } }
    if random.oneIn(300) { fields["huge"] = .bytes(random.bytes((1 << 20) - random.below(300))) }
    return fields
  }

  private mutating func map(depth: Int) -> StoredMap {
    let names = random.oneIn(4) ? (0..<random.below(5)).map { _ in pick(Self.names) } : pick(templates)
    return StoredMap(names.map { (name: $0, value: value(depth: depth)) })
  }

  private mutating func value(depth: Int = 2) -> StoredValue {
    switch random.below(24) {
    case 0 where depth > 0: return .map(map(depth: depth - 1))
    case 1 where depth > 0:
      return .array((0..<random.below(4)).map { _ in .map(map(depth: depth - 1)) })
    case 2: return .string(String(repeating: "y", count: pick(Array(Self.lengths.prefix(11)))))
    case 3: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 4: return .double(Double(bitPattern: random.next()))
    case 5:
      let time = StoredTimestamp(microseconds: Int64(random.below(1 << 40))) ?? .epoch
      return .pendingTimestamp(time, previous: random.oneIn(2) && depth > 0 ? .map(map(depth: 0)) : nil)
    case 6 where depth > 0:
      // Sometimes an array in an array, which no user can write.
      return .array((0..<random.below(4)).map { _ in random.oneIn(40) ? .array([.null]) : value(depth: 0) })
    default: return values.value(depth: 0)
    }
  }

  /// A value inside `depth` maps and arrays.
  private func tower(_ depth: Int) -> StoredValue {
    (0..<depth).reduce(StoredValue.null) { inner, floor in
      floor % 2 == 0 ? .map(StoredMap([("m", inner)])) : .array([inner])
    }
  }

  /// The document with a difference that may or may not matter.
  mutating func variant(of document: StoredDocument) -> StoredDocument {
    var fields = document.fields
    let name = fields.entries.isEmpty ? "a" : pick(fields.entries.map(\.name))
    switch random.below(5) {
    case 0: fields[name] = value()
    case 1: fields[name] = nil
    case 2: fields[pick(Self.names)] = .null
    default: fields = Self.withOtherNaNs(fields)
    }
    return StoredDocument(
      path: document.path, createTime: document.createTime, updateTime: document.updateTime, fields: fields)
  }

  private static func withOtherNaNs(_ fields: StoredMap) -> StoredMap {
    StoredMap(fields.entries.map { ($0.name, withOtherNaNs($0.value)) })
  }

  private static func withOtherNaNs(_ value: StoredValue) -> StoredValue {
    func other(_ number: Double) -> Double {
      number.isNaN ? Double(bitPattern: number.bitPattern ^ 0x8000_0000_0000_0100) : number
    }
    switch value {
    case .double(let number): return .double(other(number))
    case .vector(let numbers): return .vector(numbers.map(other))
    case .array(let elements): return .array(elements.map(withOtherNaNs))
    case .map(let map): return .map(withOtherNaNs(map))
    case .pendingTimestamp(let time, let previous):
      return .pendingTimestamp(time, previous: previous.map(withOtherNaNs))
    default: return value
    }
  }

  // MARK: Mutations

  mutating func mutation(of document: StoredDocument) -> Mutation {
    let transforms = random.oneIn(2) ? [] : (0..<1 + random.below(3)).map { _ in transform(document) }
    switch random.below(20) {
    case 0: return .delete(document.path, precondition: precondition(document))
    case 1: return .verify(document.path, precondition(document))
    case 2, 3:
      return .set(document.path, fields(), transforms: transforms, precondition: precondition(document))
    case 4:
      // Most often no field changes.
      return .set(document.path, variant(of: document).fields, transforms: Array(transforms.prefix(1)))
    case 5, 6: return scalarPatch(of: document)
    default:
      var fields = StoredMap()
      let mask = FieldMask((0..<random.below(4)).map { _ in path(in: document) })
      for path in mask.paths where !random.oneIn(5) {
        fields.set(random.oneIn(4) ? document.fields[path] ?? .null : value(), at: path)
      }
      return .patch(
        document.path, fields, mask: mask, transforms: transforms, precondition: precondition(document))
    }
  }

  /// Replaces some of the top-level fields, mostly by scalars.
  private mutating func scalarPatch(of document: StoredDocument) -> Mutation {
    var fields = StoredMap()
    for (name, value) in document.fields.entries where !name.isEmpty && random.oneIn(3) {
      fields[name] = random.oneIn(5) ? value : values.value(depth: 0)
    }
    let mask = FieldMask(fields.entries.map { StoredFieldPath(unchecked: [$0.name]) })
    return .patch(document.path, fields, mask: mask)
  }

  private mutating func precondition(_ document: StoredDocument) -> Precondition {
    switch random.below(16) {
    case 0: .exists(false)
    case 1, 2: .exists(true)
    case 3: .updateTime(document.updateTime)
    case 4: .updateTime(.epoch)
    default: .none
    }
  }

  private mutating func transform(_ document: StoredDocument) -> FieldTransform {
    let number: StoredNumber =
      random.oneIn(2) ? .integer(pick(DocumentGenerator.integers)) : .double(pick(DocumentGenerator.doubles))
    let elements = (0..<random.below(3)).map { _ in values.value(depth: 0) }
    let operation: FieldTransform.Operation =
      switch random.below(8) {
      case 0: .serverTimestamp
      case 1, 2: .increment(number)
      case 3: .minimum(number)
      case 4: .maximum(number)
      case 5: .arrayUnion(elements)
      case 6: .arrayRemove(elements)
      default: .increment(.integer(1))
      }
    return FieldTransform(path(in: document), operation)
  }

  // MARK: Paths

  private mutating func path(in document: StoredDocument) -> StoredFieldPath {
    var names = [name(in: document.fields)]
    var value = document.fields[names[0]]
    while random.oneIn(3), names.count < 4 {
      var inner = StoredMap()
      if case .map(let map)? = value { inner = map }
      names.append(name(in: inner))
      value = inner[names[names.count - 1]]
    }
    return StoredFieldPath(unchecked: names)
  }

  private mutating func name(in fields: StoredMap) -> String {
    fields.isEmpty || random.oneIn(3) ? pick(Self.names) : pick(fields.entries.map(\.name))
  }

  /// Paths of some of the fields, and of fields that do not exist.
  mutating func paths(in document: StoredDocument) -> [StoredFieldPath] {
    (0..<4).map { _ in path(in: document) }
  }

  /// An index on fields of the document.
  mutating func index(on document: StoredDocument) -> IndexDefinition? {
    let parts: [IndexDefinition.Part] = [
      .value(.ascending), .value(.ascending), .value(.descending), .valueOrNull(.ascending),
      .valueOrNull(.descending), .element,
    ]
    var fields: [IndexDefinition.Field] = []
    for _ in 0..<1 + random.below(3) {
      let field = path(in: document)
      if !fields.contains(where: { $0.path == field }) { fields.append(.init(field, pick(parts))) }
    }
    return try? IndexDefinition(
      keysOf: document.path.collectionID, random.oneIn(3) ? .collectionGroup : .collection, fields: fields)
  }

  // MARK: Damage

  mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<1 + random.below(2) {
      let place = random.below(bytes.count)
      switch random.below(5) {
      case 0: bytes[place] ^= 1 << UInt8(random.below(8))
      case 1: bytes[place] = pick([0, 1, 2, 3, 4, 10, 12, 13, 0x7F, 0x80, 0xFF])
      case 2: bytes[place] &+= 1
      case 3: bytes[place] &-= 1
      default: bytes = Array(bytes[..<max(place, 1)])
      }
    }
    return bytes
  }
}

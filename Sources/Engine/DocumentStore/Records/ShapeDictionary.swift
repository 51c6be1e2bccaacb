// The shapes of a database, and the rules for which maps get a shape.
//
// Invariants:
// - An id always identifies the same shape. A new id is above every id that is defined or used in a record.
//   While the highest id is unknown, no new shapes are created.
// - A shape is created when its names occur for the second time, up to limits on the number of shapes and the
//   size of names. So a million different maps cost only a small hash lookup each and create no shapes.
// - A commit contains the definitions of all shapes that its records use, unless a visible commit already
//   defines them. So records always have their shapes, even if other commits fail. A shape is defined
//   repeatedly, by the first commits that use it, so that one damaged place in the WAL does not lose the
//   shape.
// - Each log file begins with the definitions of all stored shapes (`storedDefinitions`). The commits in the
//   file define all other shapes that they use. So a log file has the shapes of its records, even if earlier
//   log files are lost.
//
// Ids are assigned under the lock of the dictionary, on the thread that encodes the fields, before the
// commit has its place in the order. So ids and commits may have different orders, and a commit that fails
// leaves its new shapes unstored. Definitions count as stored as soon as their commit is visible. A
// reader takes the shape table only after it has read the record.

import ByteStore
import Synchronization

package final class ShapeDictionary: Sendable {
  static let shapesMax = 4096
  static let nameBytesMax = 1 << 20
  fileprivate static let recentMax = 1024
  static let definitionsMin = 3

  fileprivate struct State {
    /// By id.
    var shapes = ShapeList()
    /// Shapes without a visible definition.
    var unstored: Set<Int> = []
    /// For each shape, the number of further commits that must define it.
    var definitionsDue: [Int: Int] = [:]
    /// By `ShapeSlots.hash`.
    var byHash: [UInt64: Int] = [:]
    var count = 0
    var nameBytes = 0
    /// The total size of all definitions, each written as a put.
    var definitionBytes = 0
    /// The next id to assign. Nil until it is known which ids the records use.
    var nextID: Int?
    /// The ids from here on are used by no record of an earlier process.
    var firstOwnID = 0
    /// A small hash table of the name hashes of maps that occurred once.
    var recent: [UInt64] = []
    /// Created on demand. Lacks the shapes in `newShapes`.
    var snapshot: ShapeSnapshot?
    var newShapes: [Shape] = []
  }

  private let state = Locked(State())
  private let origin = ShapeTable.Origin()
  /// The number of shapes that were ever added. A writer compares it with its snapshot, which it uses without
  /// a lock as long as both agree.
  private let versions = Atomic<Int>(0)
  /// Unused writers of records with these shapes.
  let writers = RecordWriterPool()

  // MARK: Reading

  var table: ShapeTable { snapshot.table }

  var version: Int { versions.load(ordering: .acquiring) }

  /// All present shapes.
  var snapshot: ShapeSnapshot {
    state.withLock { state in
      if state.newShapes.isEmpty, let snapshot = state.snapshot { return snapshot }
      let version = versions.load(ordering: .relaxed)
      let snapshot =
        state.snapshot?.adding(state.newShapes, all: state.shapes, version: version)
        ?? ShapeSnapshot(ShapeTable(state.shapes, origin: origin), version: version)
      state.snapshot = snapshot
      state.newShapes.removeAll()
      return snapshot
    }
  }

  /// All present shapes, without a lock if no shape was added since this buffer was used last.
  func snapshot(keptBy pooled: PooledBuffer) -> ShapeSnapshot {
    if let kept = pooled.companion as? ShapeSnapshot, kept.version == version, owns(kept.table) {
      return kept
    }
    let snapshot = snapshot
    pooled.companion = snapshot
    return snapshot
  }

  /// Whether a table belongs to this database, so its ids identify the same shapes here.
  func owns(_ table: ShapeTable) -> Bool { table.origin === origin }

  // MARK: Writing

  /// Returns the id of the shape with these sorted names; nil if there is none. Creates a shape if the names
  /// occur for the second time.
  func id(of names: [String]) -> Int? {
    guard (1...Shape.namesMax).contains(names.count) else { return nil }
    let hash = names.reduce(0) { $0 &+ FieldNameKey($1).hash }
    return state.withLock { state in
      guard let id = state.byHash[hash] else {
        let admitted = state.admit(names, hash)
        noteVersion(state)
        return admitted
      }
      return state.shapes[id]?.names.areSameUTF8(as: names) == true ? id : nil
    }
  }

  private func noteVersion(_ state: State) {
    if state.count != versions.load(ordering: .relaxed) { versions.store(state.count, ordering: .releasing) }
  }

  /// Whether any commit may have to define a shape.
  var isDefinitionDue: Bool { state.withLock { !$0.definitionsDue.isEmpty } }

  /// The shapes among `ids` that a commit must define.
  func definitionsDue(for ids: Set<Int>) -> [Shape] {
    state.withLock { state in
      guard !state.definitionsDue.isEmpty else { return [] }
      return ids.filter { state.definitionsDue[$0] != nil }.sorted().compactMap { state.shapes[$0] }
    }
  }

  /// Notes that a visible commit defines these shapes.
  func noteStored(_ ids: [Int]) {
    state.withLock { state in
      state.unstored.subtract(ids)
      for id in ids {
        let due = (state.definitionsDue[id] ?? 1) - 1
        state.definitionsDue[id] = due > 0 ? due : nil
      }
    }
  }

  // MARK: Opening

  /// The stored shapes and the next id, for a checkpoint. Nil if the next id is unknown. The ids of shapes
  /// that no commit has defined are free again for the next process, which finds all later definitions in the
  /// WAL.
  var stored: (nextID: Int, shapes: [Shape])? {
    state.withLock { state in
      guard state.nextID != nil else { return nil }
      let shapes = state.shapes.compactMap { $0 }.filter { !state.unstored.contains($0.id) }
      return (max(state.firstOwnID, (shapes.last?.id ?? -1) + 1), shapes)
    }
  }

  /// The definitions of all stored shapes, as puts.
  var storedDefinitions: [(key: [UInt8], value: [UInt8])] {
    let shapes = state.withLock { state in
      state.shapes.compactMap { $0 }.filter { !state.unstored.contains($0.id) }
    }
    return shapes.map { (Shape.key($0.id), $0.definition) }
  }

  /// An upper limit on the size of the stored definitions, either in a catalog or as puts. Includes
  /// definitions that are not visible yet.
  var definitionBytesMax: Int { state.withLock { $0.definitionBytes } }

  /// Adds a stored shape. Returns false if the id already belongs to another shape.
  @discardableResult
  func add(_ shape: Shape) -> Bool {
    add([shape])
  }

  /// Adds the shapes of another dictionary of the same store. Returns false and adds none if an id belongs to
  /// another shape here.
  func add(_ other: ShapeDictionary) -> Bool {
    add(other.state.withLock { $0.shapes.compactMap { $0 } })
  }

  private func add(_ shapes: [Shape]) -> Bool {
    state.withLock { state in
      defer { noteVersion(state) }
      return state.addStored(shapes)
    }
  }

  /// Describes the first difference between the stored definitions and the known shapes; nil if there is
  /// none.
  func difference(from definitions: [Shape]) -> String? {
    let known = state.withLock { state in
      state.shapes.compactMap { $0 }.filter { !state.unstored.contains($0.id) }
    }
    for shape in definitions where !known.contains(where: { $0.id == shape.id }) {
      return "shape \(shape.id) is stored and not known"
    }
    for shape in known {
      guard let stored = definitions.first(where: { $0.id == shape.id }) else {
        return "shape \(shape.id) is not stored"
      }
      guard stored.names.areSameUTF8(as: shape.names) else { return "shape \(shape.id) is stored as another" }
    }
    return nil
  }

  /// Allows new ids from `nextID` on. No record may use these ids yet.
  func begin(from nextID: Int) {
    state.withLock { state in
      let first = max(nextID, state.nextID ?? 0, state.shapes.count)
      (state.nextID, state.firstOwnID) = (first, first)
    }
  }

  var knowsIDs: Bool { state.withLock { $0.nextID != nil } }
}

extension ShapeDictionary.State {
  /// Adds stored shapes. Returns false and adds none if an id already belongs to another shape.
  fileprivate mutating func addStored(_ stored: [Shape]) -> Bool {
    var new: [Shape] = []
    for shape in stored {
      guard shape.id < shapes.count, let known = shapes[shape.id] else {
        new.append(shape)
        continue
      }
      guard known.names.areSameUTF8(as: shape.names) else { return false }
    }
    for shape in new {
      add(shape)
      nextID = nextID.map { max($0, shape.id + 1) }
    }
    return true
  }

  fileprivate mutating func admit(_ names: [String], _ hash: UInt64) -> Int? {
    guard count < ShapeDictionary.shapesMax, let id = nextID, id <= Shape.idMax, hasOccurredBefore(hash)
    else {
      return nil
    }
    let bytes = names.reduce(0) { $0 + $1.utf8.count }
    guard bytes <= Shape.nameBytesMax, nameBytes + bytes <= ShapeDictionary.nameBytesMax,
      names.allSatisfy({ $0.utf8.count <= RecordCodec.nameBytesMax })
    else { return nil }
    add(Shape(id: id, names: names))
    unstored.insert(id)
    definitionsDue[id] = ShapeDictionary.definitionsMin
    nextID = id + 1
    return id
  }

  private mutating func hasOccurredBefore(_ hash: UInt64) -> Bool {
    if recent.isEmpty { recent = Array(repeating: 0, count: ShapeDictionary.recentMax) }
    // Each slot is paired with a second slot, so that two alternating maps do not keep evicting each other.
    let place = Int(truncatingIfNeeded: hash % UInt64(recent.count))
    if recent[place] == hash || recent[place ^ 1] == hash { return true }
    recent[place ^ 1] = recent[place]
    recent[place] = hash
    return false
  }

  fileprivate mutating func add(_ shape: Shape) {
    shapes.add(shape)
    byHash[shape.slots.hash] = shape.id
    count += 1
    nameBytes += shape.nameBytes
    definitionBytes += Batch.bytes(ofPutOf: shape.definition.count, for: Shape.key(shape.id))
    if snapshot != nil { newShapes.append(shape) }
  }
}

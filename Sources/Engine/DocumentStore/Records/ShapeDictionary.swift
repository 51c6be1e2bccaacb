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
// Ids are assigned under the lock of the commit order. Definitions count as stored from the moment their
// commit is visible. A reader takes the shape table only after it has read the record.

import ByteStore

package final class ShapeDictionary: Sendable {
  static let shapesMax = 4096
  static let nameBytesMax = 1 << 20
  fileprivate static let recentMax = 1024
  static let definitionsMin = 3

  fileprivate struct State {
    /// By id.
    var shapes: [Shape?] = []
    /// Shapes without a visible definition.
    var unstored: Set<Int> = []
    /// For each shape, the number of further commits that must define it.
    var definitionsDue: [Int: Int] = [:]
    var byHash: [UInt64: Int] = [:]
    /// The shapes used last. Most maps of a program have one of a few shapes, and comparing names is
    /// cheaper than hashing them.
    var last = SIMD4<Int32>(repeating: -1)
    var nextLast = 0
    var count = 0
    var nameBytes = 0
    /// The total size of all definitions, each written as a put.
    var definitionBytes = 0
    /// The next id to assign. Nil until it is known which ids the records use.
    var nextID: Int?
    /// A small hash table of the name hashes of maps that occurred once.
    var recent: [UInt64] = []
    /// Created on demand.
    var table: ShapeTable?
  }

  private let state = Locked(State())
  private let origin = ShapeTable.Origin()

  // MARK: Reading

  var table: ShapeTable {
    state.withLock { state in
      if let table = state.table { return table }
      let table = ShapeTable(state.shapes, origin: origin)
      state.table = table
      return table
    }
  }

  // MARK: Writing

  /// Returns the id of the shape of a map; nil if the map has no shape. Creates a shape if the map's names
  /// occur for the second time.
  func id(of map: StoredMap) -> Int? {
    guard (1...Shape.namesMax).contains(map.count) else { return nil }
    if let id = state.withLock({ $0.last(of: map) }) { return id }
    let hash = map.nameHash
    return state.withLock { state in
      guard let id = state.byHash[hash] else { return state.admit(map, hash) }
      guard state.shapes[id]?.isOf(map) == true else { return nil }
      state.last[state.nextLast] = Int32(id)
      state.nextLast = (state.nextLast + 1) % state.last.scalarCount
      return id
    }
  }

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

  /// The stored shapes and the next id, for a checkpoint. Nil if the next id is unknown.
  var stored: (nextID: Int, shapes: [Shape])? {
    state.withLock { state in
      state.nextID.map { nextID in
        (nextID, state.shapes.compactMap { $0 }.filter { !state.unstored.contains($0.id) })
      }
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
    state.withLock { $0.addStored([shape]) }
  }

  /// Adds the shapes of another dictionary of the same store. Returns false and adds none if an id belongs to
  /// another shape here.
  func add(_ other: ShapeDictionary) -> Bool {
    let shapes = other.state.withLock { $0.shapes.compactMap { $0 } }
    return state.withLock { $0.addStored(shapes) }
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
    state.withLock { state in state.nextID = max(nextID, state.nextID ?? 0, state.shapes.count) }
  }

  var knowsIDs: Bool { state.withLock { $0.nextID != nil } }
}

extension ShapeDictionary.State {
  /// The id of the shape of a map, if it is one of the shapes used last.
  fileprivate func last(of map: StoredMap) -> Int? {
    for place in last.indices where last[place] >= 0 {
      let id = Int(last[place])
      if let shape = shapes[id], shape.names.count == map.count, shape.isOf(map) { return id }
    }
    return nil
  }

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

  fileprivate mutating func admit(_ map: StoredMap, _ hash: UInt64) -> Int? {
    guard count < ShapeDictionary.shapesMax, let id = nextID, id <= Shape.idMax, hasOccurredBefore(hash)
    else {
      return nil
    }
    let bytes = map.entries.reduce(0) { $0 + $1.name.utf8.count }
    guard bytes <= Shape.nameBytesMax, nameBytes + bytes <= ShapeDictionary.nameBytesMax,
      map.entries.allSatisfy({ $0.name.utf8.count <= RecordCodec.nameBytesMax })
    else { return nil }
    add(Shape(id: id, names: map.entries.map(\.name)))
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
    if shapes.count <= shape.id {
      shapes.append(contentsOf: repeatElement(nil, count: shape.id + 1 - shapes.count))
    }
    shapes[shape.id] = shape
    byHash[StoredMap.nameHash(shape.names)] = shape.id
    count += 1
    nameBytes += shape.nameBytes
    definitionBytes += Batch.bytes(ofPutOf: shape.definition.count, for: Shape.key(shape.id))
    table = nil
  }
}

extension StoredMap {
  fileprivate var nameHash: UInt64 {
    var hash = NameHash()
    for entry in entries { hash.add(entry.name) }
    return hash.value
  }

  fileprivate static func nameHash(_ names: [String]) -> UInt64 {
    var hash = NameHash()
    for name in names { hash.add(name) }
    return hash.value
  }
}

/// Hashes a sequence of names. Collisions only cost time.
private struct NameHash {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func add(_ name: String) {
    var name = name
    name.withUTF8 { bytes in
      let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes))
      var offset = 0
      while bytes.byteCount - offset > 8 {
        mix(bytes.word(at: offset))
        offset += 8
      }
      mix(bytes.extracting(droppingFirst: offset).unsigned ^ UInt64(bytes.byteCount) << 56)
    }
  }

  private mutating func mix(_ word: UInt64) {
    let product = (value ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    value = product.high ^ product.low
  }
}

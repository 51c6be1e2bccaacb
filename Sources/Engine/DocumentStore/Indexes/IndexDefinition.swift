// Which documents an index has, and by which keys.
//
//   key      := parent field* name          of an index for single collections
//             | field* path                 of one for a collection group
//   parent   := segment* 0x00               of the document that the collection belongs to
//   field    := value                       IndexKey.swift; of an array one key for each different element
//   name     := segment
//   path     := segment* 0x00
//
// Segments are those of DocumentKey.swift. Keys end with what tells documents apart, ascending: a query whose
// names descend goes through the index backwards.
//
// Whoever declares an index says nothing of the names, and expects them to go the way of the last field, as they do in
// queries. If that descends, the index is kept as it is read from its other end; as text it is what one would declare:
//
//   declared             kept                 text
//   city, age desc       city desc, age       city, age desc
//   city desc, age desc  city, age            city, age
//                        city, age desc       city, age desc, __name__      of a query that has this order

import ByteStore

/// What an index is of. Equal if it has the same keys.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let (city, age) = (try StoredFieldPath(dotted: "city"), try StoredFieldPath(dotted: "age"))
/// try store.createIndex(IndexDefinition("users", .collection, [.init(city), .init(age)]))
/// print(store.indexList.map(\.definition))
/// ```
public struct IndexDefinition: Hashable, Sendable {
  /// Which collections an index is about.
  public enum Scope: UInt8, Hashable, Sendable {
    /// Each collection by itself.
    case collection = 0
    /// All collections with the id together.
    case collectionGroup = 1
  }

  /// What of a field's value is in the key.
  public enum Part: Hashable, Sendable {
    /// The value of the field as a whole.
    case value(OrderBy.Direction)
    /// The same, and documents without the field are there as if it were null.
    case valueOrNull(OrderBy.Direction)
    /// One element of an array.
    case element
  }

  /// A field of an index.
  public struct Field: Hashable, Sendable {
    /// Which field.
    public let path: StoredFieldPath
    /// What of the field is in the index.
    public let part: Part

    /// An ascending field unless something else is said.
    public init(_ path: StoredFieldPath, _ part: Part = .value(.ascending)) {
      self.path = path
      self.part = part
    }
  }

  /// An index has at most so many fields.
  public static let fieldsMax = 100

  /// The last part of the paths of its collections.
  public let collectionID: String
  /// Which of these collections.
  public let scope: Scope
  /// In the order in which they sort, read from the end at which the names ascend: of what was declared with a last field
  /// that descends, each is the other way round. A definition is made of these again with `names: .ascending`.
  public let fields: [Field]

  /// An index as somebody declares it: the names of its documents go the way of the last field, as they do in queries,
  /// unless `names` says which way.
  ///
  /// Throws `invalidArgument` unless there is a field, no field of the document's name, and at most one that
  /// is about elements.
  public init(
    _ collectionID: String, _ scope: Scope = .collection, _ fields: [Field], names: OrderBy.Direction? = nil
  ) throws(DocumentStoreError) {
    let isBackward = (names ?? fields.lastDirection) == .descending
    try self.init(keysOf: collectionID, scope, isBackward ? fields.map(\.reversed) : fields)
  }

  /// An index as it is kept: the names of its documents ascend.
  package init(keysOf collectionID: String, _ scope: Scope, _ fields: [Field]) throws(DocumentStoreError) {
    guard (1...Self.fieldsMax).contains(fields.count) else {
      throw .invalidArgument("An index has 1 to \(Self.fieldsMax) fields.")
    }
    guard !fields.contains(where: { $0.path == .documentID }) else {
      throw .invalidArgument("An index has the names of its documents behind its fields, not among them.")
    }
    guard fields.count(where: { $0.part == .element }) <= 1 else {
      throw .invalidArgument("An index can have the elements of one array at most.")
    }
    self.init(unchecked: collectionID, scope, fields)
  }

  init(unchecked collectionID: String, _ scope: Scope, _ fields: [Field]) {
    self.collectionID = collectionID
    self.scope = scope
    self.fields = fields
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.collectionID.isSameUTF8(as: right.collectionID) && left.scope == right.scope
      && left.fields == right.fields
  }

  public func hash(into hasher: inout Hasher) {
    [collectionID].hashUTF8(into: &hasher)
    hasher.combine(scope)
    hasher.combine(fields)
  }
}

extension IndexDefinition.Part {
  /// Nil if it has none.
  var direction: OrderBy.Direction? {
    switch self {
    case .value(let direction), .valueOrNull(let direction): direction
    case .element: nil
    }
  }
}

extension IndexDefinition.Field {
  fileprivate var reversed: Self {
    switch part {
    case .value(let direction): Self(path, .value(direction.reversed))
    case .valueOrNull(let direction): Self(path, .valueOrNull(direction.reversed))
    case .element: self
    }
  }
}

extension [IndexDefinition.Field] {
  fileprivate var lastDirection: OrderBy.Direction? { lazy.compactMap(\.part.direction).last }
}

extension IndexDefinition: CustomStringConvertible {
  /// As one would declare it, from the end at which the first field ascends if there is one.
  public var description: String {
    let isAgainstNames = fields.lastDirection == .descending
    let first = fields.lazy.compactMap(\.part.direction).first
    let isTurned = !isAgainstNames && first == .descending
    var fields = (isTurned ? fields.map(\.reversed) : fields).map { field in
      switch field.part {
      case .value(.ascending): "\(field.path.canonical)"
      case .value(.descending): "\(field.path.canonical) desc"
      case .valueOrNull(.ascending): "\(field.path.canonical) or null"
      case .valueOrNull(.descending): "\(field.path.canonical) or null desc"
      case .element: "\(field.path.canonical)[]"
      }
    }
    if isAgainstNames { fields.append("__name__") }
    return (scope == .collectionGroup ? "group " : "") + "\(collectionID)(\(fields.joined(separator: ", ")))"
  }
}

// MARK: Keys

extension IndexDefinition {
  /// The keys of a document, each once. `value` gives what it has in the field at a place
  /// among `fields`.
  func keys(of path: DocumentPath, _ value: (Int) -> StoredValue?) -> [[UInt8]] {
    if let key = key(of: path, value) { return key }
    var keys: [[UInt8]] = [prefix(path.parent)]
    for (place, field) in fields.enumerated() {
      var next: [[UInt8]] = []
      switch (field.part, value(place)) {
      case (.element, .array(let elements)):
        var seen = Set<[UInt8]>()
        for element in elements {
          var bytes: [UInt8] = []
          IndexKey.append(element, .ascending, to: &bytes)
          guard seen.insert(bytes).inserted else { continue }
          next += keys.map { $0 + bytes }
        }
      case (.element, _), (.value, nil):
        return []
      case (.value(let direction), let value?), (.valueOrNull(let direction), let value?):
        for index in keys.indices { IndexKey.append(value, direction, to: &keys[index]) }
        next = keys
      case (.valueOrNull(let direction), nil):
        for index in keys.indices { IndexKey.append(.null, direction, to: &keys[index]) }
        next = keys
      }
      keys = next
    }
    for index in keys.indices { appendName(path, to: &keys[index]) }
    return keys
  }

  /// The one key of a document, or none; nil if elements of an array decide how many there are.
  private func key(of path: DocumentPath, _ value: (Int) -> StoredValue?) -> [[UInt8]]? {
    guard !hasElements else { return nil }
    var key: [UInt8] = []
    key.reserveCapacity(DocumentKey.bytes(path) + 16 * fields.count)
    appendKey(of: path, to: &key, value)
    return key.isEmpty ? [] : [key]
  }

  /// Elements of an array decide how many keys a document has.
  var hasElements: Bool { fields.contains { $0.part == .element } }

  /// Appends the one key of a document, or nothing if it has none. Elements of arrays count as no key.
  func appendKey(of path: DocumentPath, to key: inout [UInt8], _ value: (Int) -> StoredValue?) {
    let start = key.count
    if scope == .collection { DocumentKey.append(parentOf: path, to: &key) }
    for (place, field) in fields.enumerated() {
      switch (field.part, value(place)) {
      case (.value(let direction), let value?), (.valueOrNull(let direction), let value?):
        IndexKey.append(value, direction, to: &key)
      case (.valueOrNull(let direction), nil): IndexKey.append(.null, direction, to: &key)
      case (.value, nil), (.element, _): return key.removeSubrange(start...)
      }
    }
    appendName(path, to: &key)
  }

  func keys(of document: StoredDocument) -> [[UInt8]] {
    keys(of: document.path) { document.value(of: fields[$0].path) }
  }

  /// What the keys of all documents of a collection begin with.
  func prefix(_ collection: CollectionPath) -> [UInt8] {
    guard scope == .collection else { return [] }
    var prefix: [UInt8] = []
    if let parent = collection.parent {
      DocumentKey.append(parent, to: &prefix)
    } else {
      prefix.append(0)
    }
    return prefix
  }

  func appendName(_ path: DocumentPath, to key: inout [UInt8]) {
    switch scope {
    case .collection: DocumentKey.append(path.id, to: &key)
    case .collectionGroup: DocumentKey.append(path, to: &key)
    }
  }
}

extension IndexDefinition {
  /// The keys of a document as it is stored, and what numbers it has.
  func entries(
    ofRecord record: RawSpan, at path: DocumentPath, _ shapes: ShapeTable
  ) throws(RecordError) -> (keys: [[UInt8]], numbers: NumberBits) {
    var values: [StoredValue?] = []
    for field in fields { values.append(try RecordCodec.value(at: field.path, in: record, shapes)) }
    let keys = keys(of: path) { values[$0] }
    return (keys, keys.isEmpty ? NumberBits() : numbers { values[$0] })
  }
}

/// The names of all documents, in an index that every store has.
///
///     key := id path        the id of the collection as a segment, and the path of the document
///
/// So the documents of a collection group stand together in the order of their paths, and those of a
/// collection as well, but for documents of collections with the same id below them.
enum NameKey {
  static func encode(_ path: DocumentPath) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(DocumentKey.bytes(path) + path.collectionID.utf8.count + 3)
    DocumentKey.append(path.collectionID, to: &key)
    DocumentKey.append(path, to: &key)
    return key
  }

  /// The same, of a document whose own key is known: that has the path.
  static func append(_ path: DocumentPath, documentKey: [UInt8], to key: inout [UInt8]) {
    DocumentKey.append(path.collectionID, to: &key)
    key.append(copying: documentKey.rawSpan.extracting(droppingFirst: 1))
  }

  static func prefix(group id: String) -> [UInt8] {
    var prefix: [UInt8] = []
    DocumentKey.append(id, to: &prefix)
    return prefix
  }

  static func prefix(_ collection: CollectionPath) -> [UInt8] {
    var prefix = prefix(group: collection.id)
    for segment in collection.segments { DocumentKey.append(segment, to: &prefix) }
    return prefix
  }

  /// Whether it lies below a document of a collection with the same id.
  static func isNested(_ path: DocumentPath) -> Bool {
    let segments = path.segments
    let last = segments.count - 2
    return stride(from: 0, to: last, by: 2).contains { segments[$0].isSameUTF8(as: segments[last]) }
  }
}

/// Keys as they are in a tree, which has none of more than 768 bytes.
///
///     stored := key                         of up to 752 bytes
///             | first:752 digest:16         of a longer one; the first bytes of its SHA-256
///
/// What follows the first 752 bytes orders keys by chance then, and whoever reads them has to look at the
/// documents. No key has 753 to 767 bytes in a tree: it would stand at a place of its own among those whose
/// order is by chance.
enum StoredKey {
  static let keptBytes = OrderedIndex.keyBytesMax - 16

  static func of(_ keys: [[UInt8]]) -> [[UInt8]] {
    keys.contains { $0.count > keptBytes } ? keys.map { of($0) } : keys
  }

  static func of(_ key: [UInt8]) -> [UInt8] {
    guard key.count > keptBytes else { return key }
    return start(of: key) + ContentDigest.sha256(of: key.rawSpan).prefix(16)
  }

  /// As much of a key or a bound as the order of a tree knows.
  static func start(of key: [UInt8]) -> [UInt8] {
    key.count > keptBytes ? Array(key.prefix(keptBytes)) : key
  }

  static func isLong(_ stored: RawSpan) -> Bool { stored.byteCount > keptBytes }
}

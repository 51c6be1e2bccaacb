// Index definitions: which documents an index contains, and their keys.
//
//   key      := parent field* name          of an index for single collections
//             | field* path                 of an index for a collection group
//   parent   := segment* 0x00               of the document that contains the collection
//   field    := value                       IndexKey.swift; for an array, one key per distinct element
//   name     := segment
//   path     := segment* 0x00
//
// Segments are as in DocumentKey.swift. Keys end with the document's name, ascending, which makes them
// unique. A query with descending names reads the index backward.
//
// A declaration does not mention names. Names have the direction of the last field, as in queries. If the
// last field descends, the definition is stored with all directions reversed. The text form is what a user
// would declare:
//
//   declared             stored               text
//   city, age desc       city desc, age       city, age desc
//   city desc, age desc  city, age            city, age
//                        city, age desc       city, age desc, __name__      for a query with this order

import ByteStore

/// The definition of an index. Definitions are equal if they have equal keys.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let (city, age) = (try StoredFieldPath(dotted: "city"), try StoredFieldPath(dotted: "age"))
/// try store.createIndex(IndexDefinition("users", .collection, [.init(city), .init(age)]))
/// print(store.indexList.map(\.definition))
/// ```
public struct IndexDefinition: Hashable, Sendable {
  /// The set of collections in one index.
  public enum Scope: UInt8, Hashable, Sendable {
    /// The index serves queries on single collections with the id.
    case collection = 0
    /// The index serves queries on all collections with the id together.
    case collectionGroup = 1
  }

  /// The part of a field's value that is in the key.
  public enum Part: Hashable, Sendable {
    /// The whole value of the field.
    case value(OrderBy.Direction)
    /// The whole value of the field. Documents without the field are included, as if the field were null.
    case valueOrNull(OrderBy.Direction)
    /// One element of an array.
    case element
  }

  /// A field of an index.
  public struct Field: Hashable, Sendable {
    /// The path of the field.
    public let path: StoredFieldPath
    /// The part of the field's value that is indexed.
    public let part: Part

    /// Creates a field, ascending by default.
    public init(_ path: StoredFieldPath, _ part: Part = .value(.ascending)) {
      self.path = path
      self.part = part
    }
  }

  /// The maximum number of fields.
  public static let fieldsMax = 100

  /// The last segment of the paths of the indexed collections.
  public let collectionID: String
  /// Whether collections are indexed separately or together.
  public let scope: Scope
  /// The fields in sort order, oriented so that names ascend. If the declared last field descends, all
  /// directions are reversed. Pass these fields with `names: .ascending` to create an equal definition.
  public let fields: [Field]
  /// The cached plans for reading keys from records; nil unless the definition is that of an existing index.
  private(set) var plans: KeyPlans?

  /// Creates a definition as declared. The names have the direction of the last field, as in queries,
  /// unless `names` says otherwise.
  ///
  /// Throws `invalidArgument` if there is no field, if a field is the document's name, or if more than one
  /// field indexes elements.
  public init(
    _ collectionID: String, _ scope: Scope = .collection, _ fields: [Field], names: OrderBy.Direction? = nil
  ) throws(DocumentStoreError) {
    let isBackward = (names ?? fields.lastDirection) == .descending
    try self.init(keysOf: collectionID, scope, fields: isBackward ? fields.map(\.reversed) : fields)
  }

  /// Creates a definition as stored: the names ascend.
  package init(keysOf collectionID: String, _ scope: Scope, fields: [Field]) throws(DocumentStoreError) {
    guard (1...Self.fieldsMax).contains(fields.count) else {
      throw .invalidArgument("An index has 1 to \(Self.fieldsMax) fields.")
    }
    guard !fields.contains(where: { $0.path == .documentID }) else {
      throw .invalidArgument("An index has the names of its documents after its fields, not among them.")
    }
    guard fields.count(where: { $0.part == .element }) <= 1 else {
      throw .invalidArgument("An index can have the elements of one array at most.")
    }
    self.init(unchecked: collectionID, scope, fields: fields)
  }

  init(unchecked collectionID: String, _ scope: Scope, fields: [Field]) {
    self.collectionID = collectionID
    self.scope = scope
    self.fields = fields
  }

  /// This definition, with a cache of plans that all copies share.
  var planned: IndexDefinition {
    guard plans == nil else { return self }
    var planned = self
    planned.plans = KeyPlans(self)
    return planned
  }

  /// The shared plans, or new ones.
  var keyPlans: KeyPlans { plans ?? KeyPlans(self) }

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
  /// Nil for elements.
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
  /// The definition as a user would declare it, oriented so that the first field ascends if possible.
  public var description: String {
    let hasDescendingNames = fields.lastDirection == .descending
    let first = fields.lazy.compactMap(\.part.direction).first
    let isReversed = !hasDescendingNames && first == .descending
    var fields = (isReversed ? fields.map(\.reversed) : fields).map { field in
      switch field.part {
      case .value(.ascending): "\(field.path.canonical)"
      case .value(.descending): "\(field.path.canonical) desc"
      case .valueOrNull(.ascending): "\(field.path.canonical) or null"
      case .valueOrNull(.descending): "\(field.path.canonical) or null desc"
      case .element: "\(field.path.canonical)[]"
      }
    }
    if hasDescendingNames { fields.append("__name__") }
    return (scope == .collectionGroup ? "group " : "") + "\(collectionID)(\(fields.joined(separator: ", ")))"
  }
}

// MARK: Keys

extension IndexDefinition {
  /// Returns the keys of a document, without duplicates. `value` returns the value of a field, given the
  /// field's index in `fields`.
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

  /// Returns an array with the single key of a document, or an empty array if the document has no key.
  /// Returns nil if the elements of an array determine the number of keys.
  private func key(of path: DocumentPath, _ value: (Int) -> StoredValue?) -> [[UInt8]]? {
    guard !hasElements else { return nil }
    var key: [UInt8] = []
    key.reserveCapacity(DocumentKey.bytes(path) + 16 * fields.count)
    appendKey(of: path, to: &key, value)
    return key.isEmpty ? [] : [key]
  }

  /// True if the elements of an array determine how many keys a document has.
  var hasElements: Bool { fields.contains { $0.part == .element } }

  /// Appends the single key of a document. Appends nothing if the document has no key or if array elements
  /// are indexed.
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

  /// The common prefix of the keys of a collection's documents.
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
  /// Returns the keys of an encoded document, and the kinds of the numbers in these keys.
  func entries(
    ofRecord record: RawSpan, at path: DocumentPath, shapes: ShapeTable
  ) throws(RecordError) -> (keys: [[UInt8]], numbers: NumberBits) {
    var values: [StoredValue?] = []
    for field in fields { values.append(try RecordCodec.value(at: field.path, in: record, shapes: shapes)) }
    let keys = keys(of: path) { values[$0] }
    return (keys, keys.isEmpty ? NumberBits() : numbers { values[$0] })
  }
}

/// Keys of the name index, which every store has.
///
///     key := id path        the collection id as a segment, then the path of the document
///
/// The documents of a collection group are adjacent, in path order. The documents of a single collection are
/// in path order, too, but documents in nested collections with an equal id can lie between them.
enum NameKey {
  static func encode(_ path: DocumentPath) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(DocumentKey.bytes(path) + path.collectionID.utf8.count + 3)
    DocumentKey.append(path.collectionID, to: &key)
    DocumentKey.append(path, to: &key)
    return key
  }

  /// Appends the name key of a document. `group` is the encoded collection id. `documentKey` is the
  /// document's own key, which contains the encoded path.
  static func append(group: RawSpan, documentKey: RawSpan, to key: inout [UInt8]) {
    key.append(copying: group)
    key.append(copying: documentKey.extracting(droppingFirst: 1))
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

  /// True if the document is nested below a document of a collection with an equal id.
  static func isNested(_ path: DocumentPath) -> Bool {
    let segments = path.segments
    let last = segments.count - 2
    return stride(from: 0, to: last, by: 2).contains { segments[$0].isSameUTF8(as: segments[last]) }
  }

  /// The collection id of a document that is below a document of a collection with an equal id; else nil.
  static func nestedID(_ path: DocumentPath) -> String? { isNested(path) ? path.collectionID : nil }
}

/// Keys as the trees store them, with at most 768 bytes.
///
///     stored := key                         up to 752 bytes
///             | first:752 digest:16         of a longer key; the first bytes of its SHA-256
///
/// Long keys with a common prefix of 752 bytes are ordered by digest, so readers must look at the documents
/// to sort them. Stored keys never have 753 to 767 bytes, because truncated keys have no correct order
/// relative to such keys.
enum StoredKey {
  static let keptBytes = OrderedIndex.keyBytesMax - digestBytes
  static let digestBytes = 16

  static func of(_ keys: [[UInt8]]) -> [[UInt8]] {
    keys.contains { $0.count > keptBytes } ? keys.map { of($0) } : keys
  }

  static func of(_ key: [UInt8]) -> [UInt8] {
    guard key.count > keptBytes else { return key }
    return start(of: key) + ContentDigest.sha256(of: key.rawSpan).prefix(digestBytes)
  }

  /// Returns the part of a key or bound by which a tree orders keys.
  static func start(of key: [UInt8]) -> [UInt8] {
    key.count > keptBytes ? Array(key.prefix(keptBytes)) : key
  }

  static func isLong(_ stored: RawSpan) -> Bool { stored.byteCount > keptBytes }
}

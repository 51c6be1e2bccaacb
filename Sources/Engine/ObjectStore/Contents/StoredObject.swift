// Records of objects: their name, their content, and their attributes.

package import ByteStore
package import DocumentStore

/// The attributes of an object that its owner sets.
package struct ObjectAttributes: Hashable, Sendable {
  /// Limit on the total size of the names and values in `custom`.
  package static let customBytesMax = 8 << 10
  /// Limit on each of the other attributes.
  package static let textBytesMax = 4 << 10

  package var contentType: String?
  package var cacheControl: String?
  package var contentDisposition: String?
  package var contentEncoding: String?
  package var contentLanguage: String?
  package var custom: [String: String] = [:]

  package init() {}

  /// Throws `invalidArgument` if the attributes exceed a limit.
  package func check() throws(DocumentStoreError) {
    let bytes = custom.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    guard bytes <= Self.customBytesMax else {
      throw .invalidArgument(
        "The custom metadata has \(bytes) bytes, and the limit is \(Self.customBytesMax).")
    }
    for text in [contentType, cacheControl, contentDisposition, contentEncoding, contentLanguage] {
      guard let count = text?.utf8.count, count > Self.textBytesMax else { continue }
      throw .invalidArgument("A metadata field has \(count) bytes, and the limit is \(Self.textBytesMax).")
    }
  }
}

/// Metadata that a remote assigns to an object.
package struct RemoteObjectMetadata: Hashable, Sendable {
  package var generation: Int64
  /// Nil if the remote does not report it.
  package var metageneration: Int64?
  package var contentTime: StoredTimestamp?
  package var changed: StoredTimestamp?

  package init(
    generation: Int64, metageneration: Int64? = nil, contentTime: StoredTimestamp? = nil,
    changed: StoredTimestamp? = nil
  ) {
    self.generation = generation
    self.metageneration = metageneration
    self.contentTime = contentTime
    self.changed = changed
  }
}

/// An object in one snapshot.
package struct StoredObject: Hashable, Sendable {
  package var path: ObjectPath
  package var blob: BlobID
  package var byteCount: UInt64
  package var md5: [UInt8]
  /// Commit time of the content. The number of microseconds in it is the generation, which grows with every
  /// new content of the object.
  package var contentTime: StoredTimestamp
  /// Time of the last change of content or attributes.
  package var changed: StoredTimestamp
  /// Number of attribute changes to this content, counted from 1.
  package var metageneration: Int64
  /// Download tokens; each grants read access.
  package var tokens: [String]
  package var attributes: ObjectAttributes
  /// The remote's generation of this content, if the remote has it.
  package var remoteGeneration: Int64?

  package var generation: Int64 { remoteGeneration ?? contentTime.microseconds }

  /// Counts an attribute change. If a remote has assigned the maximum, the number stays at the maximum.
  package mutating func incrementMetageneration() {
    if metageneration < .max { metageneration += 1 }
  }
}

extension StoredObject {
  /// An object with a new content. The commit that stores the object sets the times.
  package init(
    _ blob: FinishedBlob, md5: [UInt8], at path: ObjectPath, attributes: ObjectAttributes, tokens: [String]
  ) {
    self.init(
      path: path, blob: blob.id, byteCount: blob.byteCount, md5: md5, contentTime: .epoch, changed: .epoch,
      metageneration: 1, tokens: tokens, attributes: attributes)
  }

  /// Takes over the remote's metadata. Values that the remote does not report stay.
  package mutating func take(_ remoteMetadata: RemoteObjectMetadata) {
    remoteGeneration = remoteMetadata.generation
    metageneration = remoteMetadata.metageneration ?? metageneration
    contentTime = remoteMetadata.contentTime ?? contentTime
    changed = remoteMetadata.changed ?? changed
  }

  /// Whether the local object agrees with everything that the remote reports.
  package func isSame(as remoteMetadata: RemoteObjectMetadata) -> Bool {
    var object = self
    object.take(remoteMetadata)
    return object == self
  }

  /// Transforms that set the missing times to the commit time.
  var missingTimes: [FieldTransform] {
    Self.commitTimes.filter { $0.field == Self.contentTimeField ? contentTime == .epoch : changed == .epoch }
  }

  private enum Field {
    static let blob = "blob"
    static let bytes = "bytes"
    static let md5 = "md5"
    static let contentTime = "made"
    static let changed = "changed"
    static let metageneration = "metageneration"
    static let tokens = "tokens"
    static let remote = "remote"
  }

  /// Indexed to find the objects that reference a content.
  static let blobField = StoredFieldPath(unchecked: [Field.blob])

  /// Nil if the fields contain no content id.
  static func blob(in fields: StoredMap) -> BlobID? {
    if case .bytes(let bytes)? = fields[Field.blob] { BlobID(bytes) } else { nil }
  }

  /// Set to the time of the commit that stores the content.
  static let contentTimeField = StoredFieldPath(unchecked: [Field.contentTime])
  static let changedField = StoredFieldPath(unchecked: [Field.changed])

  /// Transforms for a content that is stored by the commit.
  static var commitTimes: [FieldTransform] {
    [FieldTransform(contentTimeField, .serverTimestamp), FieldTransform(changedField, .serverTimestamp)]
  }

  var fields: StoredMap {
    var fields = StoredMap([
      (Field.blob, .bytes(blob.bytes)), (Field.bytes, .integer(Int64(clamping: byteCount))),
      (Field.md5, .bytes(md5)), (Field.contentTime, .timestamp(contentTime)),
      (Field.changed, .timestamp(changed)),
      (Field.metageneration, .integer(metageneration)), (Field.tokens, .array(tokens.map { .string($0) })),
    ])
    fields[Field.remote] = remoteGeneration.map { .integer($0) }
    attributes.add(to: &fields)
    return fields
  }

  /// Nil if the document is not a valid object record.
  package init?(_ document: StoredDocument) {
    guard let path = ObjectPath(document.path) else { return nil }
    self.init(at: path, document.fields)
  }

  init?(at path: ObjectPath, _ fields: StoredMap) {
    guard case .bytes(let blob)? = fields[Field.blob],
      let id = BlobID(blob), case .integer(let count)? = fields[Field.bytes],
      let byteCount = UInt64(exactly: count), case .bytes(let md5)? = fields[Field.md5],
      case .timestamp(let contentTime)? = fields[Field.contentTime],
      case .timestamp(let changed)? = fields[Field.changed],
      case .integer(let metageneration)? = fields[Field.metageneration],
      case .array(let tokens)? = fields[Field.tokens]
    else { return nil }
    self.init(
      path: path, blob: id, byteCount: byteCount, md5: md5, contentTime: contentTime, changed: changed,
      metageneration: metageneration, tokens: tokens.compactMap(\.plainText),
      attributes: ObjectAttributes(fields))
    if case .integer(let generation)? = fields[Field.remote] { remoteGeneration = generation }
  }
}

extension ObjectAttributes {
  /// The attributes that are single strings; raw values are field names.
  package enum TextField: String, CaseIterable, Sendable {
    case contentType, cacheControl, contentDisposition, contentEncoding, contentLanguage
  }

  package subscript(field: TextField) -> String? {
    get {
      switch field {
      case .contentType: contentType
      case .cacheControl: cacheControl
      case .contentDisposition: contentDisposition
      case .contentEncoding: contentEncoding
      case .contentLanguage: contentLanguage
      }
    }
    set {
      switch field {
      case .contentType: contentType = newValue
      case .cacheControl: cacheControl = newValue
      case .contentDisposition: contentDisposition = newValue
      case .contentEncoding: contentEncoding = newValue
      case .contentLanguage: contentLanguage = newValue
      }
    }
  }

  /// Names and values in turn, in an array, because a field name cannot be an arbitrary string.
  private static let customName = "custom"

  func add(to fields: inout StoredMap) {
    for field in TextField.allCases { fields[field.rawValue] = self[field].map { .string($0) } }
    let pairs = custom.sorted { $0.key.precedesInUTF8($1.key) }
    guard !pairs.isEmpty else { return }
    fields[Self.customName] = .array(pairs.flatMap { [.string($0.key), .string($0.value)] })
  }

  init(_ fields: StoredMap) {
    for field in TextField.allCases { self[field] = fields[field.rawValue]?.plainText }
    guard case .array(let texts)? = fields[Self.customName] else { return }
    let pairs = texts.compactMap(\.plainText)
    for place in stride(from: 0, to: pairs.count - 1, by: 2) { custom[pairs[place]] = pairs[place + 1] }
  }
}

extension StoredValue {
  var plainText: String? { if case .string(let text) = self { text } else { nil } }
}

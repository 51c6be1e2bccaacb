// The records of objects: a name, what it is about, and which content it has.

package import ByteStore
package import DocumentStore

/// What the owner of an object says about it.
package struct ObjectAttributes: Hashable, Sendable {
  /// Of names and values of `custom` together.
  package static let customBytesMax = 8 << 10
  /// Of each of the others.
  package static let textBytesMax = 4 << 10

  package var contentType: String?
  package var cacheControl: String?
  package var contentDisposition: String?
  package var contentEncoding: String?
  package var contentLanguage: String?
  package var custom: [String: String] = [:]

  package init() {}

  /// Throws `invalidArgument` if it is more than a record should hold.
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

/// What a remote says of an object beside what it contains and what its owner says.
package struct ObjectStanding: Hashable, Sendable {
  package var generation: Int64
  /// Nil for what it does not tell.
  package var metageneration: Int64?
  package var made: StoredTimestamp?
  package var changed: StoredTimestamp?

  package init(
    generation: Int64, metageneration: Int64? = nil, made: StoredTimestamp? = nil,
    changed: StoredTimestamp? = nil
  ) {
    self.generation = generation
    self.metageneration = metageneration
    self.made = made
    self.changed = changed
  }
}

/// An object as of one commit.
package struct StoredObject: Hashable, Sendable {
  package var path: ObjectPath
  package var blob: BlobID
  package var byteCount: UInt64
  package var md5: [UInt8]
  /// When the content was put there. In microseconds it is the generation, which grows with every content.
  package var made: StoredTimestamp
  /// When the content or the attributes were last changed.
  package var changed: StoredTimestamp
  /// Counts the changes of attributes of this content, from 1.
  package var metageneration: Int64
  /// Who has one may read the object.
  package var tokens: [String]
  package var attributes: ObjectAttributes
  /// What a remote calls this content, if it has it.
  package var remoteGeneration: Int64?

  package var generation: Int64 { remoteGeneration ?? made.microseconds }

  /// Counts one more change of attributes. A remote may have given the content the last number there is, which stays.
  package mutating func countChange() {
    if metageneration < .max { metageneration += 1 }
  }
}

extension StoredObject {
  /// As a remote has it; times that it does not tell are those of the commit that puts it here.
  package init(
    remote standing: ObjectStanding, at path: ObjectPath, _ blob: FinishedBlob, md5: [UInt8],
    tokens: [String], _ attributes: ObjectAttributes
  ) {
    self.init(
      path: path, blob: blob.id, byteCount: blob.byteCount, md5: md5, made: .epoch, changed: .epoch,
      metageneration: 1, tokens: tokens, attributes: attributes, remoteGeneration: standing.generation)
    take(standing)
  }

  mutating func take(_ standing: ObjectStanding) {
    remoteGeneration = standing.generation
    metageneration = standing.metageneration ?? metageneration
    made = standing.made ?? made
    changed = standing.changed ?? changed
  }

  /// Whether all that the remote tells is so here.
  package func isSame(as standing: ObjectStanding) -> Bool {
    var object = self
    object.take(standing)
    return object == self
  }

  /// Those times that are not known yet.
  var timesToCome: [FieldTransform] {
    Self.timesOfCommit.filter { $0.field == Self.madeField ? made == .epoch : changed == .epoch }
  }

  private enum Field {
    static let blob = "blob"
    static let bytes = "bytes"
    static let md5 = "md5"
    static let made = "made"
    static let changed = "changed"
    static let metageneration = "metageneration"
    static let tokens = "tokens"
    static let remote = "remote"
  }

  /// By which the objects of a content are found.
  static let blobField = StoredFieldPath(unchecked: [Field.blob])

  /// Nil for what has none.
  static func blob(in fields: StoredMap) -> BlobID? {
    if case .bytes(let bytes)? = fields[Field.blob] { BlobID(bytes) } else { nil }
  }

  /// Set to the time of the commit that puts a content there.
  static let madeField = StoredFieldPath(unchecked: [Field.made])
  static let changedField = StoredFieldPath(unchecked: [Field.changed])

  /// Of a content that comes with a commit.
  static var timesOfCommit: [FieldTransform] {
    [FieldTransform(madeField, .serverTimestamp), FieldTransform(changedField, .serverTimestamp)]
  }

  var fields: StoredMap {
    var fields = StoredMap([
      (Field.blob, .bytes(blob.bytes)), (Field.bytes, .integer(Int64(clamping: byteCount))),
      (Field.md5, .bytes(md5)), (Field.made, .timestamp(made)), (Field.changed, .timestamp(changed)),
      (Field.metageneration, .integer(metageneration)), (Field.tokens, .array(tokens.map { .string($0) })),
    ])
    fields[Field.remote] = remoteGeneration.map { .integer($0) }
    attributes.add(to: &fields)
    return fields
  }

  /// Nil for what is no record of an object.
  init?(_ document: StoredDocument) {
    guard let path = ObjectPath(document.path) else { return nil }
    self.init(at: path, document.fields)
  }

  init?(at path: ObjectPath, _ fields: StoredMap) {
    guard case .bytes(let blob)? = fields[Field.blob],
      let id = BlobID(blob), case .integer(let count)? = fields[Field.bytes],
      let byteCount = UInt64(exactly: count), case .bytes(let md5)? = fields[Field.md5],
      case .timestamp(let made)? = fields[Field.made], case .timestamp(let changed)? = fields[Field.changed],
      case .integer(let metageneration)? = fields[Field.metageneration],
      case .array(let tokens)? = fields[Field.tokens]
    else { return nil }
    self.init(
      path: path, blob: id, byteCount: byteCount, md5: md5, made: made, changed: changed,
      metageneration: metageneration, tokens: tokens.compactMap(\.plainText),
      attributes: ObjectAttributes(fields))
    if case .integer(let generation)? = fields[Field.remote] { remoteGeneration = generation }
  }
}

extension ObjectAttributes {
  /// Those that are single texts, with the names of their fields.
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

  /// Names and values by turns: a field's name could not be any text.
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

// The records of uploads that are under way, paused, or were cut off: what it takes to go on with them.

package import ByteStore
package import DocumentStore

/// An upload of which a part is staged.
package struct StoredUpload: Hashable, Sendable {
  /// Under which number the part is staged.
  package var number: StagedNumber
  package var path: ObjectPath
  package var attributes: ObjectAttributes
  /// When it began, by the wall clock.
  package var began: StoredTimestamp
  package var source: UploadSource

  package init(
    number: StagedNumber, path: ObjectPath, attributes: ObjectAttributes, began: StoredTimestamp,
    source: UploadSource
  ) {
    self.number = number
    self.path = path
    self.attributes = attributes
    self.began = began
    self.source = source
  }
}

/// What an upload is made from, told apart from what it might have become meanwhile.
package struct UploadSource: Hashable, Sendable {
  /// Of the file; nil if the bytes came from memory.
  package var file: String?
  package var byteCount: UInt64
  /// When the file was last changed, in nanoseconds since 1970; 0 for bytes from memory.
  package var modified: Int64

  package init(file: String?, byteCount: UInt64, modified: Int64) {
    self.file = file
    self.byteCount = byteCount
    self.modified = modified
  }
}

enum UploadRecord {
  private static let bucket = "bucket"
  private static let name = "name"
  private static let began = "began"
  private static let file = "file"
  private static let bytes = "bytes"
  private static let modified = "modified"

  /// By which the uploads of an object are found, among those of its name in other buckets.
  static let nameField = StoredFieldPath(unchecked: [name])

  static func path(_ number: StagedNumber) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.uploads, number.description])
  }

  static func fields(_ upload: StoredUpload) -> StoredMap {
    var fields = StoredMap([
      (bucket, .string(upload.path.bucket)), (name, .string(upload.path.name.text)),
      (began, .timestamp(upload.began)), (bytes, .integer(Int64(clamping: upload.source.byteCount))),
      (modified, .integer(upload.source.modified)),
    ])
    fields[file] = upload.source.file.map { .string($0) }
    upload.attributes.add(to: &fields)
    return fields
  }

  /// Nil for what is no record of an upload.
  static func upload(_ document: StoredDocument) -> StoredUpload? {
    let fields = document.fields
    guard document.path.segments.count == 2, let number = StagedNumber(hexadecimal: document.path.id),
      let bucket = fields[bucket]?.plainText,
      let name = fields[name]?.plainText.flatMap({ try? ObjectName($0) }),
      case .timestamp(let began)? = fields[began], case .integer(let count)? = fields[bytes],
      let byteCount = UInt64(exactly: count), case .integer(let modified)? = fields[modified]
    else { return nil }
    return StoredUpload(
      number: number, path: ObjectPath(bucket: bucket, name: name), attributes: ObjectAttributes(fields),
      began: began,
      source: UploadSource(file: fields[file]?.plainText, byteCount: byteCount, modified: modified))
  }
}

// Records of uploads that are running, paused, or were interrupted. They hold what is needed to resume.

package import ByteStore
package import DocumentStore

/// A partly staged upload.
package struct StoredUpload: Hashable, Sendable {
  /// The number of the staged file.
  package var number: StagedNumber
  package var path: ObjectPath
  package var attributes: ObjectAttributes
  /// Wall-clock time of the start.
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

/// The source of an upload. It is compared when the upload is resumed, to detect a changed file.
package struct UploadSource: Hashable, Sendable {
  /// Path of the file; nil if the bytes came from memory.
  package var file: String?
  package var byteCount: UInt64
  /// Modification time of the file in nanoseconds since 1970; 0 for bytes from memory.
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

  /// Indexed to find the uploads to an object. The index also finds uploads to objects with this name in
  /// other buckets.
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

  /// Nil if the document is not a valid upload record.
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

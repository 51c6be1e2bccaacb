// Records of arrivals: contents being fetched from a remote. They hold what is needed to resume a fetch.
//
//   record of an arrival   __arrivals__ / number as 32 hexadecimal digits

package import ByteStore
package import DocumentStore

/// The identity of a content that a remote has for an object.
package struct RemoteContent: Hashable, Sendable {
  /// The content's generation at the remote.
  package var generation: Int64
  /// Size of the complete content.
  package var byteCount: UInt64
  /// The creation time and the MD5 of the complete content, if the remote reports them. Both identify the
  /// content, because another server can use the same generation numbers.
  package var md5: [UInt8]
  package var created: StoredTimestamp?

  package init(generation: Int64, byteCount: UInt64, md5: [UInt8], created: StoredTimestamp?) {
    self.generation = generation
    self.byteCount = byteCount
    self.md5 = md5
    self.created = created
  }
}

/// A partly staged content of a remote object.
package struct StoredArrival: Hashable, Sendable {
  /// The number of the staged file.
  package var number: StagedNumber
  package var path: ObjectPath
  package var content: RemoteContent
  /// Wall-clock time of the start.
  package var began: StoredTimestamp
  /// Number of bytes received when the record was last written. Used to choose the longer of two staged
  /// parts. Only reading the file shows how many of these bytes are intact.
  package var bytesRecorded: UInt64 = 0
}

enum ArrivalRecord {
  private static let bucket = "bucket"
  private static let name = "name"
  private static let generation = "generation"
  private static let bytes = "bytes"
  private static let md5 = "md5"
  private static let created = "created"
  private static let began = "began"
  private static let noted = "noted"

  /// Indexed to find the arrivals of an object. The index also finds arrivals of objects with this name in
  /// other buckets.
  static let nameField = StoredFieldPath(unchecked: [name])

  static func path(_ number: StagedNumber) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.arrivals, number.description])
  }

  static func fields(_ arrival: StoredArrival) -> StoredMap {
    let content = arrival.content
    return StoredMap([
      (bucket, .string(arrival.path.bucket)), (name, .string(arrival.path.name.text)),
      (generation, .integer(content.generation)), (bytes, .integer(Int64(clamping: content.byteCount))),
      (md5, .bytes(content.md5)), (created, content.created.map { .timestamp($0) } ?? .null),
      (began, .timestamp(arrival.began)), (noted, .integer(Int64(clamping: arrival.bytesRecorded))),
    ])
  }

  /// Nil if the document is not a valid arrival record.
  static func arrival(_ document: StoredDocument) -> StoredArrival? {
    let fields = document.fields
    guard document.path.segments.count == 2, let number = StagedNumber(hexadecimal: document.path.id),
      let bucket = fields[bucket]?.plainText,
      let name = fields[name]?.plainText.flatMap({ try? ObjectName($0) }),
      case .integer(let generation)? = fields[generation], case .integer(let count)? = fields[bytes],
      let byteCount = UInt64(exactly: count), case .bytes(let md5)? = fields[md5],
      let createdValue = fields[created], case .timestamp(let began)? = fields[began]
    else { return nil }
    var created: StoredTimestamp?
    if case .timestamp(let time) = createdValue { created = time }
    // Records that earlier versions wrote lack this field.
    var bytesRecorded: UInt64 = 0
    if case .integer(let count)? = fields[noted] { bytesRecorded = UInt64(exactly: count) ?? 0 }
    let content = RemoteContent(
      generation: generation, byteCount: byteCount, md5: md5, created: created)
    return StoredArrival(
      number: number, path: ObjectPath(bucket: bucket, name: name), content: content, began: began,
      bytesRecorded: bytesRecorded)
  }
}

// The records of contents on their way here from a remote: what it takes to go on with them.
//
//   record of an arrival   __arrivals__ / number as 32 hexadecimal digits

package import ByteStore
package import DocumentStore

/// A content of a remote's object of which a part is staged.
package struct StoredArrival: Hashable, Sendable {
  /// Under which number the part is staged.
  package var number: StagedNumber
  package var path: ObjectPath
  /// Which content of the object it is, as the remote counts them.
  package var generation: Int64
  /// Of all of it.
  package var byteCount: UInt64
  /// Of all of it, as far as the remote tells, and when it came there: another server may count the same generations.
  package var md5: [UInt8]
  package var created: StoredTimestamp?
  /// When it began, by the wall clock.
  package var began: StoredTimestamp
  /// So many bytes had come when that was noted last: by it, the longer of two parts is found. What is sound of them, only
  /// reading tells.
  package var bytesNoted: UInt64 = 0
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

  /// By which the arrivals of an object are found, among those of its name in other buckets.
  static let nameField = StoredFieldPath(unchecked: [name])

  static func path(_ number: StagedNumber) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.arrivals, number.description])
  }

  static func fields(_ arrival: StoredArrival) -> StoredMap {
    StoredMap([
      (bucket, .string(arrival.path.bucket)), (name, .string(arrival.path.name.text)),
      (generation, .integer(arrival.generation)), (bytes, .integer(Int64(clamping: arrival.byteCount))),
      (md5, .bytes(arrival.md5)), (created, arrival.created.map { .timestamp($0) } ?? .null),
      (began, .timestamp(arrival.began)), (noted, .integer(Int64(clamping: arrival.bytesNoted))),
    ])
  }

  /// Nil for what is no record of an arrival.
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
    // Earlier records have none.
    var bytesNoted: UInt64 = 0
    if case .integer(let count)? = fields[noted] { bytesNoted = UInt64(exactly: count) ?? 0 }
    return StoredArrival(
      number: number, path: ObjectPath(bucket: bucket, name: name), generation: generation,
      byteCount: byteCount, md5: md5, created: created, began: began, bytesNoted: bytesNoted)
  }
}

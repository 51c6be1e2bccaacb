// Names of objects, and the paths of the records about them.
//
//   record of an object   __buckets__ / = bucket / __objects__ / = name      both shifted
//   record of a content   __blobs__ / id as 64 hexadecimal digits
//   record of an upload   __uploads__ / number as 32 hexadecimal digits
//   record of a download  __downloads__ / number as 32 hexadecimal digits
//   record of an arrival  __arrivals__ / number as 32 hexadecimal digits
//
// Objects are listed in byte order of their names. Names contain slashes, which document ids cannot. So
// each byte from space (0x20) to slash (0x2F) is shifted down by one, which preserves the order and turns a
// slash into a full stop. This is unambiguous, because names contain no bytes below space.

package import DocumentStore

/// The name of an object in its bucket. Names are equal if their bytes are.
package struct ObjectName: Hashable, Sendable, CustomStringConvertible {
  package static let bytesMax = 1024
  private static let refusedPrefix = ".well-known/acme-challenge/"

  package let text: String

  /// Throws `invalidArgument` with the reason if the name is invalid.
  package init(_ text: String) throws(DocumentStoreError) {
    func require(_ holds: Bool, _ reason: String) throws(DocumentStoreError) {
      if !holds { throw .invalidArgument("\"\(text.prefix(100))\" is not an object name: \(reason).") }
    }
    let bytes = text.utf8
    try require(!bytes.isEmpty, "it is empty")
    try require(
      bytes.count <= Self.bytesMax, "it has \(bytes.count) bytes, and the limit is \(Self.bytesMax)")
    try require(!bytes.contains { $0 < 0x20 || $0 == 0x7F }, "it has control characters")
    try require(text != "." && text != "..", "it denotes a folder")
    try require(!bytes.starts(with: Self.refusedPrefix.utf8), "names that begin like this are refused")
    self.text = text
  }

  init?(id: String) {
    guard let text = ShiftedText.text(ofID: id), let name = try? ObjectName(text) else { return nil }
    self = name
  }

  var id: String { ShiftedText.id(of: text) }

  package var description: String { text }

  package static func == (left: Self, right: Self) -> Bool { left.text.isSameUTF8(as: right.text) }

  package func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}

/// The path of an object: bucket and name.
package struct ObjectPath: Hashable, Sendable {
  package let bucket: String
  package let name: ObjectName

  package init(bucket: String, name: ObjectName) {
    self.bucket = bucket
    self.name = name
  }

  var document: DocumentPath {
    DocumentPath(unchecked: ReservedPath.objects(inBucket: bucket).segments + [name.id])
  }

  /// The object that a document describes; nil for other documents.
  package init?(_ path: DocumentPath) {
    let segments = path.segments
    guard segments.count == 4, segments[0] == ReservedPath.buckets, segments[2] == ReservedPath.objects,
      let bucket = ShiftedText.text(ofID: segments[1]), let name = ObjectName(id: segments[3])
    else { return nil }
    self.init(bucket: bucket, name: name)
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.name == right.name && left.bucket.isSameUTF8(as: right.bucket)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ReservedPath {
  static func objects(inBucket bucket: String) -> CollectionPath {
    CollectionPath(unchecked: [buckets, ShiftedText.id(of: bucket), objects])
  }

  static let allUploads = CollectionPath(unchecked: [uploads])
  static let allDownloads = CollectionPath(unchecked: [downloads])
  static let allArrivals = CollectionPath(unchecked: [arrivals])
}

/// Encodes text with slashes as a document id. Preserves the order.
enum ShiftedText {
  private static let mark = UInt8(ascii: "=")
  private static let shifted: ClosedRange<UInt8> = 0x20...0x2F

  static func id(of text: String) -> String {
    var bytes = [mark]
    bytes.reserveCapacity(1 + text.utf8.count)
    for byte in text.utf8 { bytes.append(shifted.contains(byte) ? byte - 1 : byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func text(ofID id: String) -> String? {
    var bytes = Array(id.utf8)
    guard bytes.first == mark else { return nil }
    bytes.removeFirst()
    for place in bytes.indices where shifted.contains(bytes[place] &+ 1) { bytes[place] += 1 }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The smallest id after all ids that begin with `prefix`. `prefix` must end with a slash.
  static func endID(ofFolder prefix: String) -> String {
    var bytes = Array(id(of: prefix).utf8)
    // Replace the slash by the encoding of "0", which is the next byte in order.
    bytes[bytes.count - 1] = UInt8(ascii: "0")
    return String(decoding: bytes, as: UTF8.self)
  }
}

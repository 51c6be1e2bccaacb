// Decodes the fields of a Protocol Buffers message, including groups.
//
//   message := (tag value)*           tag := varint: number << 3 | wire type
//   value   := varint | 8 bytes | length bytes | 4 bytes | message end-of-group

struct ProtobufProblem: Error {
  var message: String

  init(_ message: String) { self.message = message }
}

struct ProtobufReader {
  enum Value: Equatable {
    case varint(UInt64)
    case fixed64(UInt64)
    case bytes([UInt8])
    case fixed32(UInt32)
    /// The bytes between the start tag and the end tag.
    case group([UInt8])
  }

  /// The limit for nested messages, so that a file cannot exhaust the stack.
  static let depthMax = 100

  private let bytes: ArraySlice<UInt8>
  private var place: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes[...]
    place = 0
  }

  /// Returns all fields in order.
  static func fields(_ bytes: [UInt8]) throws(ProtobufProblem) -> [(number: Int, value: Value)] {
    var reader = ProtobufReader(bytes)
    var fields: [(number: Int, value: Value)] = []
    while reader.place < bytes.count { fields.append(try reader.field(0)) }
    return fields
  }

  private mutating func field(_ depth: Int) throws(ProtobufProblem) -> (number: Int, value: Value) {
    guard depth < Self.depthMax else { throw ProtobufProblem("a record is nested too deeply") }
    let tag = try varint()
    guard let number = Int(exactly: tag >> 3), number > 0 else { throw Self.malformed }
    switch tag & 7 {
    case 0: return (number, .varint(try varint()))
    case 1: return (number, .fixed64(try fixed(8)))
    case 2:
      guard let count = Int(exactly: try varint()) else { throw Self.malformed }
      return (number, .bytes(try take(count)))
    case 3: return (number, .group(try group(number, depth)))
    case 5: return (number, .fixed32(UInt32(truncatingIfNeeded: try fixed(4))))
    default: throw Self.malformed
    }
  }

  private mutating func group(_ number: Int, _ depth: Int) throws(ProtobufProblem) -> [UInt8] {
    let start = place
    while true {
      let end = place
      let tag = try varint()
      if tag == UInt64(number) << 3 | 4 { return Array(bytes[start..<end]) }
      place = end
      _ = try field(depth + 1)
    }
  }

  private mutating func varint() throws(ProtobufProblem) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard place < bytes.count else { throw Self.malformed }
      let byte = bytes[place]
      place += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw Self.malformed
  }

  private mutating func fixed(_ count: Int) throws(ProtobufProblem) -> UInt64 {
    try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func take(_ count: Int) throws(ProtobufProblem) -> [UInt8] {
    guard count <= bytes.count - place else { throw Self.malformed }
    defer { place += count }
    return Array(bytes[place..<place + count])
  }

  private static let malformed = ProtobufProblem("a record is not encoded as in an export")
}

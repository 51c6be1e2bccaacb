// Reads protobuf from untrusted bytes. The grammar is in ProtobufTag.swift.
//
// A reader is always inside one message, which ends at `end`. No function reads beyond it. Every length is
// compared with the bytes that are left before it is used, so no memory is taken for bytes that do not exist.

import ByteStore

/// A cursor over a borrowed message.
package struct ProtobufReader: ~Escapable {
  private let bytes: RawSpan
  /// The position of the next byte.
  package private(set) var offset = 0
  /// The end of the message that is being read.
  package private(set) var end: Int
  private var depthLeft: Int
  private var countLeft: Int
  /// How the documents in the message are read.
  let documents: DocumentReading

  /// Throws if the message is longer than the limit.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, limits: WireLimits = .standard) throws(WireError) {
    guard bytes.byteCount <= limits.bytesMax else {
      throw .tooManyBytes(bytes.byteCount, max: limits.bytesMax)
    }
    self.bytes = bytes
    end = bytes.byteCount
    depthLeft = limits.depthMax
    countLeft = limits.countMax
    documents = limits.documents
  }

  /// The bytes of the current message that are left.
  package var bytesLeft: Int { end &- offset }
  package var isAtEnd: Bool { offset >= end }

  // MARK: Tags

  /// Reads the next tag; nil at the end of the message.
  package mutating func tag() throws(WireError) -> ProtobufTag? {
    guard !isAtEnd else { return nil }
    let start = offset
    guard let tag = ProtobufTag(rawValue: try varint()) else {
      throw problem("there is no such tag", at: start)
    }
    return tag
  }

  /// Reads the next tag if it is the given one. Otherwise, does not move.
  package mutating func skips(_ tag: ProtobufTag) throws(WireError) -> Bool {
    guard !isAtEnd else { return false }
    let start = offset
    if try varint() == UInt64(tag.rawValue) { return true }
    offset = start
    return false
  }

  /// Skips the content of a field, after its tag.
  package mutating func skip(_ tag: ProtobufTag) throws(WireError) {
    switch tag.type {
    case .varint: _ = try varint()
    case .fixed64: _ = try fixed64()
    case .length: offset &+= try length()
    case .fixed32: _ = try fixed32()
    case .startGroup: try skipGroup(tag.number)
    case .endGroup: throw problem("a group ends that has not begun", at: offset)
    }
  }

  /// Skips a group and the groups inside it, without recursion.
  private mutating func skipGroup(_ number: Int32) throws(WireError) {
    var open = [number]
    while let innermost = open.last {
      guard let tag = try tag() else { throw problem("a group has no end", at: offset) }
      switch tag.type {
      case .startGroup:
        guard open.count < depthLeft else { throw .tooDeep }
        open.append(tag.number)
      case .endGroup:
        guard tag.number == innermost else { throw problem("a group has the end of another", at: offset) }
        open.removeLast()
      case .varint, .fixed64, .length, .fixed32: try skip(tag)
      }
    }
  }

  // MARK: Numbers

  /// Reads up to 64 bits in at most ten bytes.
  @inline(__always)
  package mutating func varint() throws(WireError) -> UInt64 {
    guard offset < end else { throw problem("it ends inside a field", at: offset) }
    let first = byte(at: offset)
    guard first >= 0x80 else {
      offset &+= 1
      return UInt64(first)
    }
    return try longVarint()
  }

  private mutating func longVarint() throws(WireError) -> UInt64 {
    let start = offset
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while offset < end {
      let byte = byte(at: offset)
      offset &+= 1
      guard shift < 63 || byte <= 1 else { throw problem("a number has more than 64 bits", at: start) }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift &+= 7
    }
    throw problem("it ends inside a number", at: start)
  }

  package mutating func fixed64() throws(WireError) -> UInt64 { try fixed(UInt64.self).littleEndian }
  package mutating func fixed32() throws(WireError) -> UInt32 { try fixed(UInt32.self).littleEndian }
  /// Reads a double. There is one NaN, as in JSON.
  package mutating func double() throws(WireError) -> Double {
    let value = Double(bitPattern: try fixed64())
    return value.isNaN ? .nan : value
  }

  private mutating func fixed<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(WireError) -> Number {
    let size = MemoryLayout<Number>.size
    guard size <= bytesLeft else { throw problem("it ends inside a field", at: offset) }
    defer { offset &+= size }
    // The guard keeps the read inside the bytes.
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self)
  }

  @inline(__always)
  private func byte(at offset: Int) -> UInt8 {
    unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  // MARK: Lengths

  /// Reads a length, and checks that as many bytes are left.
  package mutating func length() throws(WireError) -> Int {
    let start = offset
    let length = try varint()
    guard length <= UInt64(bytesLeft) else {
      throw problem("a length of \(length) bytes has only \(bytesLeft)", at: start)
    }
    return Int(length)
  }

  /// Reads a length and as many bytes, and returns a view of these bytes.
  @_lifetime(copy self)
  package mutating func span() throws(WireError) -> RawSpan {
    let count = try length()
    let start = offset
    offset &+= count
    return bytes.extracting(start..<offset)
  }

  package mutating func byteArray() throws(WireError) -> [UInt8] { Array(copying: try span()) }

  /// Reads a string. Throws if it is not UTF-8.
  package mutating func string() throws(WireError) -> String {
    let start = offset
    let span = try span()
    let text = unsafe span.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    guard let text else { throw problem("a string is not UTF-8", at: start) }
    return text
  }

  /// The bytes of the current message that are left, for a reader of its own. `skip(bytes:)` continues behind
  /// what that reader has read.
  var rest: RawSpan {
    @_lifetime(copy self)
    get { bytes.extracting(offset..<end) }
  }

  /// Continues behind so many bytes, at most those that are left.
  mutating func skip(bytes count: Int) {
    precondition(count >= 0 && count <= bytesLeft, "a reader does not read beyond the message")
    offset &+= count
  }

  // MARK: Nested messages

  /// Reads a length, and makes the reader stop after as many bytes. Returns the end of the outer message for
  /// `leave(to:)`.
  package mutating func enter() throws(WireError) -> Int {
    let count = try length()
    guard depthLeft > 0 else { throw .tooDeep }
    depthLeft &-= 1
    let outer = end
    end = offset &+ count
    return outer
  }

  /// Continues behind the message that `enter()` began.
  package mutating func leave(to outer: Int) {
    offset = end
    end = outer
    depthLeft &+= 1
  }

  /// Takes elements from the number that the limits allow. Called before memory is taken for them.
  package mutating func count(_ elements: Int = 1) throws(WireError) {
    guard elements <= countLeft else { throw .tooManyElements }
    countLeft &-= elements
  }

  /// Takes one element of a type.
  mutating func count<Element>(of type: Element.Type) throws(WireError) {
    try count(max(1, MemoryLayout<Element>.stride / WireLimits.bytesPerElement))
  }

  /// An error about the bytes at a position.
  package func problem(_ sentence: String, at offset: Int) -> WireError {
    WireError("The message is not valid protobuf: \(sentence), at byte \(offset).")
  }
}

// Reads JSON (RFC 8259) from untrusted bytes.
//
//   text    := space value space
//   value   := object | array | string | number | "true" | "false" | "null"
//   object  := "{" (string ":" value ("," string ":" value)*)? "}"
//   array   := "[" (value ("," value)*)? "]"
//
// The caller knows which value it expects, and reads it. Objects and arrays are read step by step:
//
//   var key = try reader.beginObject()
//   while let name = key { … read or skip the value … ; key = try reader.nextKey() }
//
// A key that occurs twice is returned twice; the caller decides which one counts.

import ByteStore

/// A cursor over a borrowed JSON text.
package struct JSONReader: ~Escapable {
  let bytes: RawSpan
  /// The position of the next byte.
  package internal(set) var offset = 0
  private var depthLeft: Int
  private var countLeft: Int
  /// How the documents in the message are read.
  let documents: DocumentReading

  /// The kinds of values.
  package enum Kind: Sendable {
    case object, array, string, number, boolean, null
  }

  /// Throws if the text is longer than the limit.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, limits: WireLimits = .standard) throws(WireError) {
    guard bytes.byteCount <= limits.bytesMax else {
      throw .tooManyBytes(bytes.byteCount, max: limits.bytesMax)
    }
    self.bytes = bytes
    depthLeft = limits.depthMax
    countLeft = limits.countMax
    documents = limits.documents
  }

  // MARK: Values

  /// The kind of the next value, by its first byte. The value may still be invalid.
  package mutating func kind() throws(WireError) -> Kind {
    guard let byte = nextByte() else { throw problem("there is no value") }
    switch byte {
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
    case UInt8(ascii: "n"): return .null
    default: throw problem("there is no value")
    }
  }

  package mutating func boolean() throws(WireError) -> Bool {
    if nextByte() == UInt8(ascii: "t") {
      try expect("true")
      return true
    }
    try expect("false")
    return false
  }

  /// Reads `null` if it is the next value.
  package mutating func skipsNull() throws(WireError) -> Bool {
    guard nextByte() == UInt8(ascii: "n") else { return false }
    try expect("null")
    return true
  }

  /// Reads any value, and checks it.
  package mutating func skip() throws(WireError) {
    switch try kind() {
    case .object:
      var key = try beginObject()
      while key != nil {
        try skip()
        key = try nextKey()
      }
    case .array:
      var hasElement = try beginArray()
      while hasElement {
        try skip()
        hasElement = try nextElement()
      }
    case .string: _ = try string()
    case .number: _ = try numberRange()
    case .boolean: _ = try boolean()
    case .null: try expect("null")
    }
  }

  /// Checks that nothing follows the value.
  package mutating func finish() throws(WireError) {
    guard nextByte() == nil else { throw problem("something follows the value") }
  }

  // MARK: Objects and arrays

  /// Begins an object. Returns the first key, or nil if the object is empty and has ended.
  package mutating func beginObject() throws(WireError) -> String? {
    try descend("{", "there is no object")
    return try skips("}") ? ascend() : try key()
  }

  /// Continues after the value of a key. Returns the next key, or nil at the end of the object.
  package mutating func nextKey() throws(WireError) -> String? {
    if try skips(",") { return try key() }
    guard try skips("}") else { throw problem("an object has neither a comma nor an end") }
    return ascend()
  }

  /// Begins an array. Returns whether it has an element; otherwise it has ended.
  package mutating func beginArray() throws(WireError) -> Bool {
    try descend("[", "there is no array")
    guard try skips("]") else { return true }
    depthLeft &+= 1
    return false
  }

  /// Continues after an element. Returns whether another one follows; otherwise the array has ended.
  package mutating func nextElement() throws(WireError) -> Bool {
    if try skips(",") { return true }
    guard try skips("]") else { throw problem("an array has neither a comma nor an end") }
    depthLeft &+= 1
    return false
  }

  private mutating func key() throws(WireError) -> String {
    let key = try string()
    guard try skips(":") else { throw problem("a key has no colon") }
    return key
  }

  private mutating func descend(_ byte: Unicode.Scalar, _ sentence: String) throws(WireError) {
    guard try skips(byte) else { throw problem(sentence) }
    guard depthLeft > 0 else { throw .tooDeep }
    depthLeft &-= 1
  }

  private mutating func ascend() -> String? {
    depthLeft &+= 1
    return nil
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

  // MARK: Bytes

  /// Skips white space. Returns the byte behind it, which stays unread; nil at the end.
  @inline(__always)
  mutating func nextByte() -> UInt8? {
    while offset < bytes.byteCount {
      let byte = byte(at: offset)
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: offset &+= 1
      default: return byte
      }
    }
    return nil
  }

  /// Reads a byte behind white space if it is the given one.
  @inline(__always)
  private mutating func skips(_ byte: Unicode.Scalar) throws(WireError) -> Bool {
    guard nextByte() == UInt8(ascii: byte) else { return false }
    offset &+= 1
    return true
  }

  private mutating func expect(_ word: StaticString) throws(WireError) {
    for expected in "\(word)".utf8 {
      guard offset < bytes.byteCount, byte(at: offset) == expected else { throw problem("there is no value") }
      offset &+= 1
    }
  }

  @inline(__always)
  func byte(at offset: Int) -> UInt8 {
    // All callers compare the offset with the count.
    unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  /// An error about the next byte.
  package func problem(_ sentence: String) -> WireError { problem(sentence, at: offset) }

  package func problem(_ sentence: String, at offset: Int) -> WireError {
    WireError("The message is not valid JSON: \(sentence), at byte \(offset).")
  }
}

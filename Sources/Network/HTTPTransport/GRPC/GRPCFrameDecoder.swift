// Messages in the body of a call.
//
//   body    := message*
//   message := isCompressed:u8 length:u32 byte{length}          big-endian

/// Splits a body into messages. Takes memory for bytes that have arrived, not for those that are announced.
package struct GRPCFrameDecoder {
  static let prefixCount = 5

  private let messageBytesMax: Int
  /// The bytes of a prefix that has not arrived completely, as a number.
  private var prefix: UInt64 = 0
  private var prefixLength = 0
  /// The beginning of a message that has not arrived completely.
  private var partial: [UInt8] = []
  /// The length of the message whose prefix has arrived.
  private var length: Int?

  /// The bytes of a message that has not arrived completely.
  var heldCount: Int { partial.count }

  var isWithinMessage: Bool { prefixLength > 0 || length != nil }

  /// Forgets them. No message follows.
  mutating func dropPartial() { partial = [] }

  package init(messageBytesMax: Int) { self.messageBytesMax = messageBytesMax }

  /// Removes the next message from `bytes` if it is complete. Otherwise takes all bytes and returns nil.
  package mutating func next(_ bytes: inout ArraySlice<UInt8>) throws(GRPCStatus) -> [UInt8]? {
    guard let length = try nextLength(&bytes) else { return nil }
    let missing = length - partial.count
    guard bytes.count >= missing else {
      partial += bytes
      bytes = bytes[bytes.endIndex...]
      return nil
    }
    let message = takeMessage(bytes.prefix(missing))
    bytes = bytes.dropFirst(missing)
    return message
  }

  /// Called at the end of the body, which has to be the end of a message.
  package func finish() throws(GRPCStatus) {
    guard prefixLength == 0, length == nil else {
      throw .internalError("The request ends within a message.")
    }
  }

  private mutating func takeMessage(_ rest: ArraySlice<UInt8>) -> [UInt8] {
    length = nil
    guard !partial.isEmpty else { return Array(rest) }
    partial += rest
    defer { partial = [] }
    return partial
  }

  /// The length of the current message; nil if its prefix has not arrived.
  private mutating func nextLength(_ bytes: inout ArraySlice<UInt8>) throws(GRPCStatus) -> Int? {
    if let length { return length }
    while prefixLength < Self.prefixCount {
      guard let byte = bytes.popFirst() else { return nil }
      prefix = prefix << 8 | UInt64(byte)
      prefixLength += 1
    }
    let (flag, count) = (prefix >> 32, prefix & 0xFFFF_FFFF)
    try check(flag, count)
    (prefix, prefixLength) = (0, 0)
    length = Int(count)
    return length
  }

  private func check(_ flag: UInt64, _ count: UInt64) throws(GRPCStatus) {
    guard flag != 1 else { throw .unimplemented("Compressed messages are not supported.") }
    guard flag == 0 else { throw .internalError("The request has a message with unknown flags.") }
    guard count <= messageBytesMax else {
      throw .resourceExhausted("A message has \(count) bytes, and may have \(messageBytesMax).")
    }
  }
}

// Looks at a client's unencrypted handshake before OpenSSL does.
//
// OpenSSL takes memory for a whole ClientHello when its length has arrived, and accepts 128 KiB. Clients need
// less than 2 KiB. Other messages that OpenSSL accepts from clients are small.
//
// 1. Each record has a header: a type, two bytes of version, and a length.
// 2. The payloads of handshake records form a stream of messages, which need not end where records end.
// 3. Each message has a header: a type, and a length of three bytes.
// 4. Encryption begins after the first record of another type, except that clients of TLS 1.3 may send a
//    ChangeCipherSpec without meaning in between.

/// Refuses clients that do not speak TLS, and ClientHellos that are too large.
struct ClientHelloGuard {
  static let helloBytesMax = 16 * 1024

  private static let changeCipherSpec: UInt8 = 20
  private static let handshake: UInt8 = 22
  private static let clientHello: UInt8 = 1

  /// A header of which some bytes have arrived.
  private struct Header {
    let size: Int
    private var value: UInt64 = 0
    private var count = 0

    init(size: Int) { self.size = size }

    var isComplete: Bool { count == size }
    var type: UInt8 { UInt8(truncatingIfNeeded: value >> UInt64(8 * (size - 1))) }

    /// The number in the last bytes.
    func length(bytes: Int) -> Int { Int(value & (1 << UInt64(8 * bytes) - 1)) }

    mutating func append(_ byte: UInt8) {
      value = value << 8 | UInt64(byte)
      count += 1
    }
  }

  private var record = Header(size: 5)
  private var recordLeft = 0
  private var message = Header(size: 4)
  private var messageLeft = 0
  private var hasBegun = false
  /// Whether no more bytes need to be looked at.
  private(set) var isDone = false

  /// Looks at bytes that OpenSSL gets next. `isTLS12` says whether OpenSSL has chosen TLS 1.2.
  mutating func check(_ bytes: UnsafeRawBufferPointer, isTLS12: Bool) throws(TLSError) {
    guard let first = unsafe bytes.first, !isDone else { return }
    if !hasBegun { try begin(first) }
    var position = 0
    while position < bytes.count, !isDone {
      if !record.isComplete {
        unsafe record.append(bytes[position])
        position += 1
        if record.isComplete { beginRecord(isTLS12) }
      } else {
        let part = min(recordLeft, bytes.count - position)
        if record.type == Self.handshake {
          try unsafe checkMessages(UnsafeRawBufferPointer(rebasing: bytes[position..<position + part]))
        }
        position += part
        recordLeft -= part
      }
      if record.isComplete, recordLeft == 0 { record = Header(size: 5) }
    }
  }

  private mutating func begin(_ first: UInt8) throws(TLSError) {
    hasBegun = true
    guard first != Self.handshake else { return }
    // Each method of HTTP is a word in capital letters, and so is the preface of HTTP/2.
    throw UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first ? .plaintextHTTP : .notTLS
  }

  private mutating func beginRecord(_ isTLS12: Bool) {
    recordLeft = record.length(bytes: 2)
    let isMeaningless = record.type == Self.changeCipherSpec && !isTLS12
    isDone = record.type != Self.handshake && !isMeaningless
  }

  private mutating func checkMessages(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    var position = 0
    while position < bytes.count {
      if message.isComplete {
        let part = min(messageLeft, bytes.count - position)
        position += part
        messageLeft -= part
      } else {
        unsafe message.append(bytes[position])
        position += 1
        if message.isComplete { try beginMessage() }
      }
      if message.isComplete, messageLeft == 0 { message = Header(size: 4) }
    }
  }

  private mutating func beginMessage() throws(TLSError) {
    messageLeft = message.length(bytes: 3)
    guard message.type == Self.clientHello, messageLeft > Self.helloBytesMax else { return }
    throw .helloSize(messageLeft)
  }
}

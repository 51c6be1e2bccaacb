// One call of a client, on the thread of its connection.

#if Server
/// Used on the thread of the client alone.
final class ClientCall {
  /// The frames that wait to be sent.
  var frames: [UInt8] = []
  var framesStart = 0
  var isFinished = false
  /// Whether nghttp2 has asked for bytes when there were none.
  var isDeferred = false
  /// Whether the client reads the answer. The server may only send as much as the window allows otherwise.
  var isReading = true
  /// The bytes that were received while the client did not read.
  var unreadBytes = 0

  private(set) var reader = GRPCFrameReader()
  private var status: Int?
  private var code: Int?
  private var message = ""
  private let onMessage: @Sendable ([UInt8]) -> Void
  private let onEnd: @Sendable (GRPCEnd) -> Void

  init(
    onMessage: @escaping @Sendable ([UInt8]) -> Void, onEnd: @escaping @Sendable (GRPCEnd) -> Void
  ) {
    self.onMessage = onMessage
    self.onEnd = onEnd
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    // An answer with another status has text instead of messages.
    guard status == 200 else { return }
    reader.append(bytes)
    while let message = reader.next() { onMessage(message) }
  }

  func receiveField(_ name: String, _ value: String) {
    switch name {
    case ":status": status = Int(value)
    case "grpc-status": code = Int(value) ?? 2
    case "grpc-message": message = Self.decoded(value)
    default: break
    }
  }

  /// Ends the call. `reset` is the code with which the stream of HTTP/2 ended.
  func end(reset: UInt32) {
    if let code, reset == 0 || reset == HTTP2Code.cancel {
      let isCut = code == 0 && reader.isWithinMessage
      return onEnd(
        GRPCEnd(
          code: isCut ? 13 : code, message: isCut ? "the answer ends within a message" : message,
          origin: .status))
    }
    if reset == HTTP2Code.refusedStream {
      return onEnd(GRPCEnd(code: 14, message: "the server has refused the call", origin: .notBegun))
    }
    guard reset == 0 else {
      return onEnd(
        GRPCEnd(
          code: Self.code(reset: reset), message: "the server has reset the call", origin: .reset(reset)))
    }
    let status = status ?? 0
    onEnd(
      GRPCEnd(
        code: Self.code(http: status), message: "the answer has the status \(status) of HTTP",
        origin: .http(status)))
  }

  func end(_ end: GRPCEnd) { onEnd(end) }

  // MARK: Codes

  private static func code(reset: UInt32) -> Int {
    switch reset {
    case HTTP2Code.cancel: 1
    case HTTP2Code.enhanceYourCalm: 8
    case HTTP2Code.inadequateSecurity: 7
    default: 13
    }
  }

  private static func code(http status: Int) -> Int {
    switch status {
    case 400: 13
    case 401: 16
    case 403: 7
    case 404: 12
    case 429, 502, 503, 504: 14
    default: 2
    }
  }

  /// Decodes the percent-encoding of a message.
  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Codes of HTTP/2 with which streams end.
enum HTTP2Code {
  static let none: UInt32 = 0
  static let refusedStream: UInt32 = 7
  static let cancel: UInt32 = 8
  static let enhanceYourCalm: UInt32 = 11
  static let inadequateSecurity: UInt32 = 12
}
#endif

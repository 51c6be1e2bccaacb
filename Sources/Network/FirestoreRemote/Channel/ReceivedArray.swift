// The arrays in a piece.
//
//   piece   := "[" [array *("," array)] "]"
//   array   := "[" number "," content "]"
//   content := "[" value "]"
//
//   ["c", id, host, version, version, keepalive]   the session is open
//   ["noop"]                                       keeps the connection busy
//   ["close"], ["stop"]                            the session is over
//   [{"error": …}], [[{"error": …}]]               the call has failed
//   [message]                                      a message of the service
//
// A message is copied and not read. Contents of other forms say something about the channel, and are ignored.

internal import FirestoreWire
internal import OfflineSync

/// An array from the server.
struct ReceivedArray: Equatable {
  enum Content: Equatable {
    /// A value in JSON.
    case message([UInt8])
    case error(RemoteError)
    case greeting(ChannelGreeting)
    case close
    case stop
    case ignored
  }

  private static let numberMax: UInt64 = 1 << 53 - 1

  let number: UInt64
  let content: Content

  /// Reads the arrays of a piece.
  static func all(in piece: [UInt8]) throws(ChannelFault) -> [ReceivedArray] {
    var reader = ValueScanner(piece)
    var arrays: [ReceivedArray] = []
    try reader.expect("[")
    if !reader.skips("]") {
      repeat { arrays.append(try array(&reader)) } while reader.skips(",")
      try reader.expect("]")
    }
    guard reader.isAtEnd else { throw .malformed }
    return arrays
  }

  private static func array(_ reader: inout ValueScanner) throws(ChannelFault) -> ReceivedArray {
    try reader.expect("[")
    guard let number = reader.number(), number <= numberMax else { throw .malformed }
    try reader.expect(",")
    let content = try content(&reader)
    try reader.expect("]")
    return ReceivedArray(number: number, content: content)
  }

  private static func content(_ reader: inout ValueScanner) throws(ChannelFault) -> Content {
    guard reader.skips("[") else {
      _ = try reader.value()
      return .ignored
    }
    guard !reader.skips("]") else { return .ignored }
    let first = try reader.value()
    var rest: [ArraySlice<UInt8>] = []
    while reader.skips(",") { rest.append(try reader.value()) }
    try reader.expect("]")
    switch first.first {
    case UInt8(ascii: "{"): return RemoteError(answer: first).map { .error($0) } ?? .message(Array(first))
    case UInt8(ascii: "["): return RemoteError(answer: first).map { .error($0) } ?? .ignored
    case UInt8(ascii: "\""): return try control(first, rest)
    default: return .ignored
    }
  }

  private static func control(
    _ word: ArraySlice<UInt8>, _ rest: [ArraySlice<UInt8>]
  ) throws(ChannelFault) -> Content {
    switch String(decoding: word, as: UTF8.self) {
    case #""close""#: .close
    case #""stop""#: .stop
    case #""c""#: .greeting(try ChannelGreeting(rest))
    default: .ignored
    }
  }
}

/// The answer of the server that opens a session.
struct ChannelGreeting: Equatable {
  /// The id of the session.
  let session: String
  /// Microseconds between arrays; nil if the server does not say it.
  let keepAlive: Int64?

  /// Reads the values after "c".
  init(_ values: [ArraySlice<UInt8>]) throws(ChannelFault) {
    guard let first = values.first, let id = ValueScanner.string(first), ChannelToken.isValid(id) else {
      throw .malformed
    }
    session = id
    guard values.count >= 5, let milliseconds = ValueScanner.integer(values[4]),
      milliseconds <= ChannelSettings.keepAlives.upperBound / 1000
    else {
      keepAlive = nil
      return
    }
    keepAlive = max(milliseconds * 1000, ChannelSettings.keepAlives.lowerBound)
  }
}

/// Texts of the server that the client puts into targets.
enum ChannelToken {
  private static let lengthMax = 1024

  /// Whether the text is short and consists of visible characters in ASCII.
  static func isValid(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= lengthMax && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

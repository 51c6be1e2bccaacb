// Parses a head that has arrived completely.
//
//   head    := method " " target " " version CRLF (name ":" blank* value blank* CRLF)* CRLF
//   version := "HTTP/" digit "." digit
//
// A head that two programs could read differently is refused. Examples are a blank before the colon, a line
// that continues another one, two lengths, or a length beside chunks.

/// Parses one head.
struct HTTP1HeadParser {
  /// Fields that the transport itself understands.
  private enum Known: String {
    case connection
    case contentLength = "content-length"
    case expect
    case host
    case keepAlive = "keep-alive"
    case proxyConnection = "proxy-connection"
    case transferEncoding = "transfer-encoding"
    case upgrade

    static let lengths = 4...17
  }

  private static let methodBytesMax = 32
  private static let lengthDigitsMax = 18

  private let limits: HTTPLimits
  private var head = HTTP1Head()
  private var fieldCount = 0
  /// The host of an absolute target.
  private var host: String?
  private var hasHost = false
  private var length: Int?
  private var isChunked = false
  private var asksToClose = false
  private var asksToStay = false

  private init(_ limits: HTTPLimits) { self.limits = limits }

  /// Parses the bytes of a head. Its lines end with CR LF, and have no control characters; the last one is
  /// empty.
  static func parse(_ bytes: [UInt8], _ limits: HTTPLimits) throws(HTTP1Refusal) -> HTTP1Head {
    do throws(HTTP1Refusal) { return try parseWhole(bytes, limits) } catch {
      guard error.refusal != .malformed else { throw error }
      var refusal = error
      refusal.head = readable(bytes, limits)
      throw refusal
    }
  }

  /// The parts that can be read of a head that is refused, and may be incomplete.
  static func readable(_ bytes: [UInt8], _ limits: HTTPLimits) -> HTTP1Head {
    var limits = limits
    limits.headerFieldsMax = .max
    var parser = HTTP1HeadParser(limits)
    var bytes = bytes
    var end = lineEnd(in: bytes, from: 0)
    guard end < bytes.count, (try? parser.readRequestLine(bytes[..<end])) != nil else { return parser.head }
    while true {
      let start = end + 2
      guard start < bytes.count else { break }
      end = lineEnd(in: bytes, from: start)
      guard end > start, end < bytes.count else { break }
      try? parser.readField(&bytes, start..<end)
    }
    if let host = parser.host { parser.head.authority = host }
    return parser.head
  }

  private static func parseWhole(
    _ bytes: [UInt8], _ limits: HTTPLimits
  ) throws(HTTP1Refusal) -> HTTP1Head {
    var parser = HTTP1HeadParser(limits)
    var bytes = bytes
    var start = try parser.readRequestLine(bytes[..<lineEnd(in: bytes, from: 0)]) + 2
    while true {
      let end = lineEnd(in: bytes, from: start)
      guard end > start else { break }
      try parser.readField(&bytes, start..<end)
      start = end + 2
    }
    return try parser.finished()
  }

  private static func lineEnd(in bytes: [UInt8], from start: Int) -> Int {
    bytes[start...].firstIndex(of: ASCII.carriageReturn) ?? bytes.endIndex
  }

  // MARK: The request line

  /// Returns the end of the line.
  private mutating func readRequestLine(_ line: ArraySlice<UInt8>) throws(HTTP1Refusal) -> Int {
    let parts = line.split(separator: ASCII.space, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .malformed("The request line has no method, target and version.") }
    guard !parts[0].isEmpty, parts[0].allSatisfy(ASCII.isToken) else {
      throw .malformed("The method of the request is malformed.")
    }
    try readVersion(parts[2])
    guard parts[0].count <= Self.methodBytesMax else {
      throw HTTP1Refusal(501, text: "The method of the request is unknown.")
    }
    head.method = String(decoding: parts[0], as: UTF8.self)
    let target = try HTTP1Target(parts[1], method: head.method)
    head.target = target.path
    host = target.authority
    return line.endIndex
  }

  private mutating func readVersion(_ text: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    let start = text.startIndex
    guard text.count == 8, text.starts(with: "HTTP/".utf8), ASCII.isDigit(text[start + 5]),
      text[start + 6] == UInt8(ascii: "."), ASCII.isDigit(text[start + 7])
    else { throw .malformed("The version of the request is malformed.") }
    guard text[start + 5] == UInt8(ascii: "1") else {
      throw HTTP1Refusal(505, text: "The version of the request has to be HTTP/1.1 or HTTP/1.0.")
    }
    head.isOld = text[start + 7] == UInt8(ascii: "0")
  }

  // MARK: Fields

  private mutating func readField(_ bytes: inout [UInt8], _ line: Range<Int>) throws(HTTP1Refusal) {
    guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else {
      throw .malformed("A field has no colon.")
    }
    for place in line.lowerBound..<colon {
      guard ASCII.isToken(bytes[place]) else { throw .malformed("The name of a field is malformed.") }
      bytes[place] = ASCII.lowercase(bytes[place])
    }
    guard colon > line.lowerBound else { throw .malformed("A field has no name.") }
    let name = bytes[line.lowerBound..<colon]
    let value = Self.trimmed(bytes[colon + 1..<line.upperBound])
    fieldCount += 1
    guard fieldCount <= limits.headerFieldsMax else { throw .tooManyFields(limits.headerFieldsMax) }
    guard Known.lengths.contains(name.count),
      let known = Known(rawValue: String(decoding: name, as: UTF8.self))
    else { return head.fields.append(name: name, value: value) }
    try read(known, value)
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = text.drop(while: ASCII.isBlank)
    let blanks = start.reversed().prefix(while: ASCII.isBlank).count
    return start.dropLast(blanks)
  }

  private mutating func read(_ field: Known, _ value: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    switch field {
    case .host: try readHost(value)
    case .contentLength: try readLength(value)
    case .transferEncoding: try readTransferEncoding(value)
    case .expect: try readExpectation(value)
    case .connection: readConnection(value)
    case .keepAlive, .proxyConnection, .upgrade: break
    }
  }

  private mutating func readHost(_ value: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    guard !hasHost else { throw .malformed("The request has two fields Host.") }
    hasHost = true
    guard HTTP1Target.isAuthority(value) else { throw .malformed("The field Host is malformed.") }
    head.authority = String(decoding: value, as: UTF8.self)
  }

  private mutating func readLength(_ value: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    guard length == nil else { throw .malformed("The request has two fields Content-Length.") }
    guard !value.isEmpty, value.allSatisfy(ASCII.isDigit) else {
      throw .malformed("The field Content-Length is malformed.")
    }
    let digits = value.drop { $0 == UInt8(ascii: "0") }
    guard digits.count <= Self.lengthDigitsMax else { throw .bodyTooLarge(limits.bodyBytesMax) }
    length = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    head.fields.append("content-length", String(decoding: value, as: UTF8.self))
  }

  private mutating func readTransferEncoding(_ value: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    guard !isChunked else { throw .malformed("The request has two fields Transfer-Encoding.") }
    guard Self.isEqual(value, "chunked") else {
      throw HTTP1Refusal(501, text: "The only transfer encoding is chunked.")
    }
    isChunked = true
  }

  private mutating func readExpectation(_ value: ArraySlice<UInt8>) throws(HTTP1Refusal) {
    guard Self.isEqual(value, "100-continue") else {
      throw HTTP1Refusal(417, text: "The only expectation is 100-continue.")
    }
    head.expectsContinue = true
  }

  private mutating func readConnection(_ value: ArraySlice<UInt8>) {
    for option in value.split(separator: UInt8(ascii: ",")) {
      if Self.isEqual(Self.trimmed(option), "close") { asksToClose = true }
      if Self.isEqual(Self.trimmed(option), "keep-alive") { asksToStay = true }
    }
  }

  private static func isEqual(_ text: ArraySlice<UInt8>, _ name: String) -> Bool {
    text.count == name.utf8.count && zip(text, name.utf8).allSatisfy { ASCII.lowercase($0) == $1 }
  }

  // MARK: The whole

  private consuming func finished() throws(HTTP1Refusal) -> HTTP1Head {
    try checkHost()
    try chooseBody()
    head.keepsAlive = !asksToClose && (!head.isOld || asksToStay)
    if head.isOld || head.body == .none || head.body == .length(0) { head.expectsContinue = false }
    return head
  }

  private mutating func checkHost() throws(HTTP1Refusal) {
    guard hasHost || head.isOld else { throw .malformed("The request has no field Host.") }
    guard let host else { return }
    guard !hasHost || head.authority.lowercased() == host.lowercased() else {
      throw .malformed("The target and the field Host of the request name different hosts.")
    }
    head.authority = host
  }

  private mutating func chooseBody() throws(HTTP1Refusal) {
    guard isChunked else {
      guard let length else { return }
      guard length <= limits.bodyBytesMax else { throw .bodyTooLarge(limits.bodyBytesMax) }
      head.body = .length(length)
      return
    }
    guard length == nil else { throw .malformed("The request has Content-Length and Transfer-Encoding.") }
    guard !head.isOld else { throw .malformed("A request of HTTP/1.0 cannot be chunked.") }
    head.body = .chunked
  }
}

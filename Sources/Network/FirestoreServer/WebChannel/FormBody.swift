// The body of a POST of WebChannel, as a form.
//
//   headers          header fields of the opening request, one in a line, so that pages need no preflight
//   count            the number of requests
//   ofs              the number of the first request; missing if there are none
//   reqN___data__    a request in JSON, whose number is ofs + N
//
// N need not begin at 0 and has no order: a client that sends requests again groups them as it likes.

internal import HTTPTransport
internal import OfflineSync

/// The requests in a body.
struct FormBody {
  struct Request: Equatable, Sendable {
    let number: UInt64
    let message: [UInt8]
  }

  private static let prefix = Array("req".utf8)
  private static let suffix = Array("___data__".utf8)

  /// The requests in the order of their numbers.
  let requests: [Request]
  /// The list of header fields; nil if there is none.
  let headers: [UInt8]?

  /// Throws INVALID_ARGUMENT if the body has another form.
  init(_ body: [UInt8]) throws(RemoteError) {
    var pairs = FormPairs(body)
    var headers: [UInt8]?
    var count: UInt64?
    var offset: UInt64?
    var messages: [UInt64: [UInt8]] = [:]
    while let (key, value) = try pairs.next() {
      switch String(decoding: key, as: UTF8.self) {
      case "headers": try Self.set(&headers, value)
      case "count": try Self.set(&count, try Self.number(value))
      case "ofs": try Self.set(&offset, try Self.number(value))
      default:
        guard key.starts(with: Self.prefix) else { continue }
        let position = try Self.position(key)
        guard messages.count < ChannelLimits.requestsPerBodyMax,
          messages.updateValue(value, forKey: position) == nil
        else { throw Self.malformed }
      }
    }
    guard let count, count == messages.count, let offset = offset ?? (count == 0 ? 0 : nil) else {
      throw Self.malformed
    }
    self.headers = headers
    requests = try Self.requests(messages, offset: offset)
  }

  private static let malformed = RemoteError(
    .invalidArgument, "The body is no form of WebChannel, or does not have the requests that it counts.")

  private static func requests(
    _ messages: [UInt64: [UInt8]], offset: UInt64
  ) throws(RemoteError) -> [Request] {
    var requests: [Request] = []
    requests.reserveCapacity(messages.count)
    for (position, message) in messages {
      // Neither exceeds 53 bits.
      let number = offset + position
      guard number <= ChannelNumber.max else { throw malformed }
      requests.append(Request(number: number, message: message))
    }
    return requests.sorted { $0.number < $1.number }
  }

  /// The N of a key, as in `req0___data__`.
  private static func position(_ key: [UInt8]) throws(RemoteError) -> UInt64 {
    guard key.count > prefix.count + suffix.count, key.suffix(suffix.count) == suffix[...] else {
      throw malformed
    }
    return try number(key[prefix.count..<(key.count - suffix.count)])
  }

  private static func number(_ text: some Collection<UInt8>) throws(RemoteError) -> UInt64 {
    guard let number = ChannelNumber.parse(text) else { throw malformed }
    return number
  }

  private static func set<Value>(_ place: inout Value?, _ value: Value) throws(RemoteError) {
    guard place == nil else { throw malformed }
    place = value
  }
}

extension HTTPFields {
  private static let headerBytesMax = 16 * 1024

  /// Creates the fields of a list, one in a line. Throws INVALID_ARGUMENT if they are no fields of HTTP.
  init(headerList list: [UInt8]) throws(RemoteError) {
    self.init()
    let malformed = RemoteError(.invalidArgument, "The list of header fields is malformed.")
    guard list.count <= Self.headerBytesMax else { throw malformed }
    for var line in list.split(separator: UInt8(ascii: "\n")) {
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      guard !line.isEmpty else { continue }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        throw malformed
      }
      let name = line[..<colon].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
      var value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
      while value.last == UInt8(ascii: " ") { value = value.dropLast() }
      let isField =
        name.allSatisfy { $0 > 0x20 && $0 < 0x7F } && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      guard isField else { throw malformed }
      append(name: name, value: value)
    }
  }
}

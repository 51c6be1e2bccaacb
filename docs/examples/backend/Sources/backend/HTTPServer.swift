// The part of HTTP/1.1 that the example needs, on POSIX sockets: one request per connection.

@preconcurrency import Dispatch
import Foundation

struct HTTPRequest: Sendable {
  var method: String
  var path: [String]
  var query: [String: String] = [:]
  var body = Data()
}

struct HTTPResponse: Sendable {
  var status: Int
  var body = Data()

  static func json(_ status: Int, _ object: [String: Any]) -> HTTPResponse {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    return HTTPResponse(
      status: status, body: (try? JSONSerialization.data(withJSONObject: object, options: options)) ?? Data())
  }

  static func problem(_ status: Int, _ message: String) -> HTTPResponse { json(status, ["error": message]) }

  fileprivate var bytes: Data {
    let head =
      "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return Data(head.utf8) + body
  }

  private static let reasons = [
    200: "OK", 204: "No Content", 400: "Bad Request", 404: "Not Found", 413: "Content Too Large",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
  ]
}

/// Listens on one address. A connection has a thread of its own while its bytes are read or written,
/// and no thread while the response is computed. Connections beyond the limit are answered with status
/// 503.
///
/// The threads do not come from Dispatch's pool, on which tasks run too. Idle clients would use up the pool.
final class HTTPServer: Sendable {
  typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

  private static let headBytesMax = 64 << 10
  private static let bodyBytesMax = 4 << 20
  private static let lineBytesMax = 1 << 10
  private static let connectionsMax = 512
  private static let busy = HTTPResponse.problem(503, "The server cannot accept a request now.")

  let port: UInt16
  private let listener: Int32
  private let source: any DispatchSourceRead
  private let accepting = DispatchQueue(label: "backend.accept")
  /// Counts the connections that may still be opened.
  private let free = DispatchSemaphore(value: connectionsMax)
  /// Counts the requests in progress.
  private let inProgress = DispatchGroup()

  /// Port 0 is any free port. The address 0.0.0.0 stands for all interfaces of the machine.
  init(address: String, port: UInt16, _ handler: @escaping Handler) throws {
    (listener, self.port) = try Self.listen(address, port)
    source = DispatchSource.makeReadSource(fileDescriptor: listener, queue: accepting)
    source.setEventHandler { [unowned self] in
      while let connection = nextConnection() { begin(connection, handler) }
    }
    source.setCancelHandler { [listener] in close(listener) }
    source.resume()
  }

  /// Stops accepting connections, and returns when all accepted ones have been answered. Returns false
  /// if that takes longer than `seconds`. Connections that wait to be accepted are answered with 503.
  func stop(within seconds: Int) async -> Bool {
    await withCheckedContinuation { done in
      accepting.async { [self] in
        source.cancel()
        while let connection = nextConnection() { Self.refuse(connection) }
        DispatchQueue(label: "backend.stop").async { [self] in
          done.resume(returning: inProgress.wait(timeout: .now() + .seconds(seconds)) == .success)
        }
      }
    }
  }

  /// Accepts a connection; nil if none waits.
  private func nextConnection() -> Int32? {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return nil }
    // On Apple's systems, a connection is non-blocking if its listener is.
    _ = fcntl(connection, F_SETFL, 0)
    return connection
  }

  private func begin(_ connection: Int32, _ handler: @escaping Handler) {
    guard free.wait(timeout: .now()) == .success else { return Self.refuse(connection) }
    inProgress.enter()
    Thread.detachNewThread { self.serve(connection, handler) }
  }

  /// Reads only the bytes that have arrived, because it must not wait for the client.
  private static func refuse(_ connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: headBytesMax)
    _ = recv(connection, &buffer, buffer.count, doNotWait)
    write(busy.bytes, to: connection)
    close(connection)
  }

  private static func listen(_ host: String, _ port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw POSIXError(.EADDRNOTAVAIL) }
    #if canImport(Glibc)
    let stream = Int32(SOCK_STREAM.rawValue)
    #else
    let stream = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, stream, 0)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) != 0 || Foundation.listen(descriptor, Int32(connectionsMax)) != 0
          || getsockname(descriptor, address, &size) != 0
          || fcntl(descriptor, F_SETFL, O_NONBLOCK) != 0
      }
    }
    guard !failed else {
      defer { close(descriptor) }
      throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  // MARK: Connection

  private func serve(_ connection: Int32, _ handler: @escaping Handler) {
    // A client that sends nothing for ten seconds is disconnected.
    var timeout = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let result = Self.read(connection)
    Task {
      let response: HTTPResponse
      switch result {
      case .success(let request): response = await handler(request)
      case .failure(let refusal): response = refusal.response
      }
      Thread.detachNewThread {
        Self.write(response.bytes, to: connection)
        close(connection)
        self.free.signal()
        self.inProgress.leave()
      }
    }
  }

  private struct Refusal: Error { var response: HTTPResponse }

  private static func read(_ connection: Int32) -> Result<HTTPRequest, Refusal> {
    func refuse(_ status: Int, _ message: String) -> Result<HTTPRequest, Refusal> {
      .failure(Refusal(response: .problem(status, message)))
    }
    var received = Data()
    let end = Data("\r\n\r\n".utf8)
    while received.range(of: end) == nil {
      guard received.count < headBytesMax else { return refuse(413, "The head of the request is too long.") }
      guard receive(from: connection, into: &received) else {
        return refuse(400, "The request is not whole.")
      }
    }
    guard let range = received.range(of: end),
      let head = String(data: received[..<range.lowerBound], encoding: .utf8),
      var request = request(head)
    else { return refuse(400, "This is no request.") }
    do {
      request.body = try body(headers(head), behind: range.upperBound, of: &received, connection)
    } catch {
      return .failure(error)
    }
    return .success(request)
  }

  /// The header fields, by lowercased name.
  private static func headers(_ head: String) -> [String: String] {
    var headers: [String: String] = [:]
    for line in head.split(separator: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return headers
  }

  // MARK: Bodies

  private static func body(
    _ headers: [String: String], behind start: Int, of received: inout Data, _ connection: Int32
  ) throws(Refusal) -> Data {
    if let encoding = headers["transfer-encoding"] {
      guard encoding.lowercased() == "chunked" else {
        throw Refusal(response: .problem(501, "Of transfer encodings, only chunked is understood."))
      }
      return try chunks(from: start, of: &received, connection)
    }
    guard let length = Int(headers["content-length"] ?? "0"), length >= 0 else {
      throw Refusal(response: .problem(400, "Content-Length is a number of bytes."))
    }
    guard length <= bodyBytesMax else { throw tooLong }
    try receive(upTo: start + length, of: &received, connection)
    return Data(received[start..<start + length])
  }

  /// Reads a body in chunked encoding: each chunk follows a line with its size in hexadecimal digits,
  /// and a chunk of size 0 ends the body.
  private static func chunks(
    from start: Int, of received: inout Data, _ connection: Int32
  ) throws(Refusal) -> Data {
    var body = Data()
    var place = start
    while true {
      let sizeLine = try line(from: &place, of: &received, connection)
      guard let size = Int(sizeLine.prefix { $0.isHexDigit }, radix: 16) else {
        throw Refusal(response: .problem(400, "A piece of the body does not say its size."))
      }
      guard size <= bodyBytesMax - body.count else { throw tooLong }
      // The trailer fields after the last chunk are ignored.
      guard size > 0 else { return body }
      try receive(upTo: place + size, of: &received, connection)
      body += received[place..<place + size]
      place += size
      guard try line(from: &place, of: &received, connection).isEmpty else {
        throw Refusal(response: .problem(400, "A piece of the body is longer than it said."))
      }
    }
  }

  private static func line(
    from place: inout Int, of received: inout Data, _ connection: Int32
  ) throws(Refusal) -> String {
    let end = Data("\r\n".utf8)
    while true {
      if let range = received[place...].range(of: end) {
        defer { place = range.upperBound }
        return String(decoding: received[place..<range.lowerBound], as: UTF8.self)
      }
      guard received.count - place < lineBytesMax else {
        throw Refusal(response: .problem(400, "A piece of the body does not say its size."))
      }
      try receive(upTo: received.count + 1, of: &received, connection)
    }
  }

  private static func receive(
    upTo count: Int, of received: inout Data, _ connection: Int32
  ) throws(Refusal) {
    while received.count < count {
      guard receive(from: connection, into: &received) else {
        throw Refusal(response: .problem(400, "The body is not whole."))
      }
    }
  }

  private static var tooLong: Refusal { Refusal(response: .problem(413, "The body is too long.")) }

  // MARK: Bytes

  private static func request(_ head: String) -> HTTPRequest? {
    let words = (head.split(separator: "\r\n").first ?? "").split(separator: " ")
    guard words.count == 3, let url = URLComponents(string: String(words[1])) else { return nil }
    var request = HTTPRequest(
      method: String(words[0]), path: url.path.split(separator: "/").map(String.init))
    for item in url.queryItems ?? [] { request.query[item.name] = item.value }
    return request
  }

  private static func receive(from connection: Int32, into data: inout Data) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let count = recv(connection, &buffer, buffer.count, 0)
    if count > 0 { data.append(contentsOf: buffer.prefix(count)) }
    return count > 0
  }

  private static func write(_ data: Data, to connection: Int32) {
    var rest = [UInt8](data)[...]
    while !rest.isEmpty {
      // If the client has disconnected, the response is discarded, and no SIGPIPE is raised.
      let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Self.noSignal) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static let doNotWait = Int32(MSG_DONTWAIT)

  private static var noSignal: Int32 {
    #if canImport(Darwin)
    0
    #else
    Int32(MSG_NOSIGNAL)
    #endif
  }
}

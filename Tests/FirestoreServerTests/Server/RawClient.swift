// A client that sends requests over a socket.

import Foundation

enum RawClient {
  struct Failure: Error { let text: String }

  /// Sends a request of HTTP/1.1, and returns the whole answer with its fields.
  static func send(
    _ method: String, _ target: String, _ body: String = "", host: String = "localhost",
    secret: String? = nil,
    to port: Int
  ) throws -> String {
    var text = "\(method) \(target) HTTP/1.1\r\nhost: \(host):\(port)\r\nconnection: close\r\n"
    if let secret { text += "authorization: Bearer \(secret)\r\n" }
    if !body.isEmpty { text += "content-length: \(body.utf8.count)\r\n" }
    return try exchange(Array((text + "\r\n" + body).utf8), port)
  }

  private static func exchange(_ request: [UInt8], _ port: Int) throws -> String {
    let stream = try RawStream(to: port)
    try stream.send(request)
    while try stream.read() {}
    return stream.text
  }
}

/// A connection, and everything that was read from it.
final class RawStream: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a test uses it on one thread at a time.
  private let descriptor: Int32
  private var answer: [UInt8] = []

  init(to port: Int) throws {
    descriptor = socket(AF_INET, Self.streamType, 0)
    guard descriptor >= 0 else { throw RawClient.Failure(text: "socket") }
    // A test that waits in vain fails.
    var time = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw RawClient.Failure(text: "connect: \(errno)") }
  }

  deinit { close(descriptor) }

  var text: String { String(decoding: answer, as: UTF8.self) }

  func send(_ request: [UInt8]) throws {
    guard Foundation.send(descriptor, request, request.count, 0) == request.count else {
      throw RawClient.Failure(text: "send: \(errno)")
    }
  }

  /// Reads what comes next. Returns false at the end.
  func read() throws -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count >= 0 else { throw RawClient.Failure(text: "recv: \(errno), after \(text.suffix(500))") }
    answer += buffer.prefix(count)
    return count > 0
  }

  /// Reads until this text has come.
  func read(until part: String) throws {
    while !text.contains(part) {
      guard try read() else { throw RawClient.Failure(text: "the end, and no \(part): \(text.suffix(500))") }
    }
  }

  #if canImport(Darwin)
  private static let streamType = SOCK_STREAM
  #else
  private static let streamType = Int32(SOCK_STREAM.rawValue)
  #endif
}

// A client that sends one request over a socket, and reads to the end.

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
    let descriptor = socket(AF_INET, streamType, 0)
    guard descriptor >= 0 else { throw Failure(text: "socket") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure(text: "connect: \(errno)") }
    guard Foundation.send(descriptor, request, request.count, 0) == request.count else {
      throw Failure(text: "send: \(errno)")
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else { throw Failure(text: "recv: \(errno)") }
      if count == 0 { return String(decoding: answer, as: UTF8.self) }
      answer += buffer.prefix(count)
    }
  }

  #if canImport(Darwin)
  private static let streamType = SOCK_STREAM
  #else
  private static let streamType = Int32(SOCK_STREAM.rawValue)
  #endif
}

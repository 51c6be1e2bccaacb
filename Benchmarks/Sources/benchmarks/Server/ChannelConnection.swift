// A connection of HTTP/1.1 that waits for one answer after the other.

#if Server
import Foundation

/// Sends requests, and gives away the bodies of their answers as they arrive. Used on one thread, except for
/// its counters and `shutDown`.
final class ChannelConnection: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the counters, the descriptor is never replaced,
  // and one thread uses all else.
  private let lock = NSLock()
  private var byteCount = 0
  private let descriptor: Int32
  private let host: String
  private var input = [UInt8](repeating: 0, count: 1 << 16)
  private var start = 0
  private var end = 0

  init(_ port: Int) throws {
    host = "127.0.0.1:\(port)"
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr = in_addr(s_addr: UInt32(INADDR_LOOPBACK).bigEndian)
    address.sin_port = in_port_t(port).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw BenchmarkFailure("\(host) accepts no connection") }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// The bytes that were sent and received.
  var bytes: Int { lock.withLock { byteCount } }

  /// Ends what waits for an answer.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  // MARK: Requests

  /// Sends a request, and takes its answer.
  func answer(
    _ method: String, _ target: String, body: [UInt8]? = nil,
    onBody: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nAuthorization: Bearer owner\r\n"
    if let body {
      head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.count)\r\n"
    }
    try send(Array((head + "\r\n").utf8) + (body ?? []))
    let status = try line()
    guard status.hasPrefix("HTTP/1.1 200") else { throw BenchmarkFailure("WebChannel answers \(status)") }
    var length = 0
    var isChunked = false
    while case let field = try line().lowercased(), !field.isEmpty {
      let value = field.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
      if field.hasPrefix("content-length:") { length = Int(value) ?? 0 }
      if field.hasPrefix("transfer-encoding:") { isChunked = value == "chunked" }
    }
    guard isChunked else { return try take(length, onBody) }
    while let count = Int(try line(), radix: 16), count > 0 {
      try take(count, onBody)
      guard try line().isEmpty else { throw BenchmarkFailure("a chunk is longer than it says") }
    }
    guard try line().isEmpty else { throw BenchmarkFailure("an answer has no end") }
  }

  private func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw BenchmarkFailure("a connection of WebChannel is lost") }
      rest = rest.dropFirst(count)
    }
    count(bytes.count)
  }

  private func count(_ bytes: Int) { lock.withLock { byteCount += bytes } }

  // MARK: Answers

  /// Receives more bytes, after those that have not been taken.
  private func fill() throws {
    if start == end { (start, end) = (0, 0) }
    if end == input.count {
      guard start > 0 else { throw BenchmarkFailure("a line of an answer is too long") }
      input.replaceSubrange(0..<(end - start), with: input[start..<end])
      (start, end) = (0, end - start)
    }
    let received = input.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + end, $0.count - end, 0) }
    guard received > 0 else { throw BenchmarkFailure("a connection of WebChannel is lost") }
    end += received
    count(received)
  }

  private func line() throws -> String {
    while true {
      if let lineEnd = input[start..<end].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = lineEnd + 1 }
        guard lineEnd > start, input[lineEnd - 1] == UInt8(ascii: "\r") else {
          throw BenchmarkFailure("a line of an answer has another end")
        }
        return String(decoding: input[start..<(lineEnd - 1)], as: UTF8.self)
      }
      try fill()
    }
  }

  private func take(_ count: Int, _ onBody: (UnsafeRawBufferPointer) throws -> Void) throws {
    var rest = count
    while rest > 0 {
      if start == end { try fill() }
      let taken = min(rest, end - start)
      try input.withUnsafeBytes { try onBody(UnsafeRawBufferPointer(rebasing: $0[start..<(start + taken)])) }
      start += taken
      rest -= taken
    }
  }
}
#endif

// A client of HTTP/1.1 that blocks its thread: one connection for each request. An answer ends at its length,
// or with its last chunk, because the emulator does not close the connection.

import Foundation

/// An HTTP server without TLS, under a name and a port.
package struct LoopbackHTTP: Sendable {
  package struct Failure: Error, CustomStringConvertible { package let description: String }

  private let host: String
  private let port: String
  private let secondsMax: Int

  /// Creates a client of `host:port`. An answer that takes longer than `secondsMax` is a failure.
  package init(_ address: String, secondsMax: Int) {
    let colon = address.lastIndex(of: ":") ?? address.endIndex
    host = String(address[..<colon])
    port = String(address[colon...].dropFirst())
    self.secondsMax = secondsMax
  }

  /// Sends a request, and waits for its answer.
  package func reply(
    _ method: String, _ target: String, headers: [(name: String, value: String)], body: [UInt8]
  ) throws -> (status: Int, body: [UInt8]) {
    let descriptor = try connected()
    defer { close(descriptor) }
    var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    head += "Content-Length: \(body.count)\r\n\r\n"
    try send(Array(head.utf8) + body, to: descriptor)
    return try receive(from: descriptor)
  }

  // MARK: Connection

  private func connected() throws -> Int32 {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &list) == 0 else {
      throw Failure(description: "The address \(host):\(port) is unknown.")
    }
    defer { freeaddrinfo(list) }
    var next = list
    while let info = next?.pointee {
      let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
      if descriptor >= 0 {
        limitTime(of: descriptor)
        if connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 { return descriptor }
        close(descriptor)
      }
      next = info.ai_next
    }
    throw Failure(description: "\(host):\(port) accepts no connection.")
  }

  private func limitTime(of descriptor: Int32) {
    var time = timeval(tv_sec: secondsMax, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  private func send(_ bytes: [UInt8], to descriptor: Int32) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(description: "The request was not sent: error \(errno).") }
      rest = rest.dropFirst(count)
    }
  }

  private func receive(from descriptor: Int32) throws -> (status: Int, body: [UInt8]) {
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw Failure(description: "There is no whole answer: \(count), \(errno).") }
      answer += buffer.prefix(count)
      if let reply = try Self.parse(answer) { return reply }
    }
  }

  // MARK: Answers

  /// Returns nil if bytes are missing.
  private static func parse(_ answer: [UInt8]) throws -> (status: Int, body: [UInt8])? {
    var rest = answer[...]
    guard let words = line(of: &rest)?.split(separator: " ") else { return nil }
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw Failure(description: "The answer is not HTTP/1.1.")
    }
    var (isChunked, length) = (false, 0)
    while let header = line(of: &rest)?.lowercased() {
      guard !header.isEmpty else {
        if isChunked { return joinedChunks(rest).map { (status, $0) } }
        return rest.count < length ? nil : (status, Array(rest.prefix(length)))
      }
      isChunked = isChunked || header == "transfer-encoding: chunked"
      if header.hasPrefix("content-length: ") { length = Int(header.dropFirst(16)) ?? 0 }
    }
    return nil
  }

  /// Removes a line from the beginning of the bytes. Returns nil if its end is missing.
  private static func line(of bytes: inout ArraySlice<UInt8>) -> String? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { bytes = bytes[(end + 1)...] }
    return String(decoding: bytes[..<end].filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
  }

  /// Returns nil if bytes are missing.
  private static func joinedChunks(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = bytes
    var body: [UInt8] = []
    while let size = line(of: &rest).flatMap({ Int($0, radix: 16) }), size <= rest.count {
      guard size > 0 else { return body }
      body += rest.prefix(size)
      rest = rest.dropFirst(size)
      _ = line(of: &rest)
    }
    return nil
  }
}

// A server of raw bytes on the loopback device.

import ByteStore
import Foundation

/// Answers each connection by a closure, on a thread of its own. Closes when it is released.
final class RawServer: Sendable {
  let port: Int
  private let listener: Int32
  private let connections = Locked<[Int32]>([])
  private let accepted = Signal()

  /// The closure reads and writes the connection, which is closed afterwards.
  init(_ answer: @escaping @Sendable (RawConnection) -> Void) throws {
    #if canImport(Glibc)
    let kind = Int32(SOCK_STREAM.rawValue)
    #else
    let kind = SOCK_STREAM
    #endif
    let listener = socket(AF_INET, kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let outcome = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) | listen(listener, 64) | getsockname(listener, $0, &length)
      }
    }
    guard outcome == 0 else { throw POSIXError(.EADDRINUSE) }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [connections, accepted] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        connections.withLock { $0.append(descriptor) }
        accepted.wake()
        Thread.detachNewThread {
          answer(RawConnection(descriptor))
          // The peer sees the end. Another socket may have the number after the end of the server.
          connections.withLock { if $0.contains(descriptor) { shutdown(descriptor, Int32(SHUT_RDWR)) } }
        }
      }
    }
  }

  var connectionCount: Int { connections.withLock { $0.count } }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    connections.withLock { descriptors in
      for descriptor in descriptors {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
      }
      descriptors = []
    }
  }
}

/// A connection with a client.
struct RawConnection {
  let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    #if canImport(Darwin)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// The bytes of a request: its head, and as much of its body as the head says. Nil if the client is gone.
  func request() -> String? {
    var bytes: [UInt8] = []
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let head = text[..<end.lowerBound].lowercased()
        let length = head.components(separatedBy: "content-length: ").dropFirst().first
          .flatMap { Int($0.prefix { $0.isNumber }) }
        let rest = text[end.upperBound...].utf8.count
        if rest >= length ?? 0 { return text }
      }
      guard let more = read(), !more.isEmpty else { return nil }
      bytes += more
    }
  }

  /// The next bytes; empty at the end, and nil after a failure.
  func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer[..<count])
  }

  @discardableResult
  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  /// Returns false if the client is gone.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    var position = 0
    while position < bytes.count {
      let count = bytes[position...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { return false }
      position += count
    }
    return true
  }
}

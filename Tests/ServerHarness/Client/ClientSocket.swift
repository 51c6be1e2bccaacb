// A socket that does not block, after it has connected.

#if Server
import Foundation

/// Owned by a client, and used on its thread.
final class ClientSocket {
  enum Result {
    case bytes(Int)
    /// Nothing can be read or written at present.
    case later
    case lost
  }

  let descriptor: Int32

  /// Connects to an address, and waits until the connection is open.
  init(host: String, port: Int) throws {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else {
      throw GRPCClientError("the address \(host):\(port) is unknown")
    }
    defer { freeaddrinfo(list) }
    var next = list
    var connected: Int32?
    while connected == nil, let info = next?.pointee {
      let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
      if descriptor >= 0, connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 {
        connected = descriptor
      } else if descriptor >= 0 {
        Foundation.close(descriptor)
      }
      next = info.ai_next
    }
    guard let connected else { throw GRPCClientError("\(host):\(port) accepts no connection") }
    descriptor = connected
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    // Children that a test starts do not inherit the connection.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { Foundation.close(descriptor) }

  func read(into buffer: inout [UInt8]) -> Result {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? .later : .lost
  }

  func write(_ bytes: ArraySlice<UInt8>) -> Result {
    let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count >= 0 { return .bytes(count) }
    return errno == EAGAIN || errno == EINTR ? .later : .lost
  }
}
#endif

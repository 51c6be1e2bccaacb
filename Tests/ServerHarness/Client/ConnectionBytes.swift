// The bytes of this process's connections to a server, as the kernel counts them.

#if Server
import Foundation

/// The bytes of TCP connections, without the headers of packets.
package struct ConnectionBytes {
  package var sent = 0
  package var received = 0

  // The offsets are those of linux/tcp.h. The structure of the C library ends before these fields.
  private static let acknowledgedOffset = 120
  private static let receivedOffset = 128

  /// The bytes of each open connection to a port of this machine, by the port of its own end. Only Linux
  /// counts them.
  package static func now(to port: Int) throws -> [UInt16: ConnectionBytes] {
    var connections: [UInt16: ConnectionBytes] = [:]
    #if os(Linux)
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let descriptor = Int32(name), let own = SocketPorts.own(descriptor),
        SocketPorts.other(descriptor) == UInt16(port), let bytes = bytes(descriptor)
      else { continue }
      connections[own] = bytes
    }
    #endif
    return connections
  }

  /// The bytes since an earlier call of `now`. Connections that have ended in between do not count.
  package static func since(_ before: [UInt16: ConnectionBytes], to port: Int) throws -> ConnectionBytes {
    var sum = ConnectionBytes()
    for (own, bytes) in try now(to: port) {
      sum.sent += bytes.sent - (before[own]?.sent ?? 0)
      sum.received += bytes.received - (before[own]?.received ?? 0)
    }
    return sum
  }

  #if os(Linux)
  private static func bytes(_ descriptor: Int32) -> ConnectionBytes? {
    var info = [UInt8](repeating: 0, count: 256)
    var size = socklen_t(info.count)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0,
      Int(size) >= receivedOffset + 8
    else { return nil }
    return info.withUnsafeBytes { info in
      ConnectionBytes(
        sent: Int(info.loadUnaligned(fromByteOffset: acknowledgedOffset, as: UInt64.self)),
        received: Int(info.loadUnaligned(fromByteOffset: receivedOffset, as: UInt64.self)))
    }
  }
  #endif
}

/// The ports of a socket of IPv4. Other files have none.
package enum SocketPorts {
  package static func own(_ descriptor: Int32) -> UInt16? {
    port { getsockname(descriptor, $0, $1) }
  }

  /// The port of the other end. A socket that listens has none.
  package static func other(_ descriptor: Int32) -> UInt16? {
    port { getpeername(descriptor, $0, $1) }
  }

  private static func port(
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> UInt16? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) }
    }
    guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
    return UInt16(bigEndian: address.sin_port)
  }
}
#endif

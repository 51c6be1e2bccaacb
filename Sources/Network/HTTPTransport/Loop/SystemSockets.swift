// The sockets of the system.

internal import CSockets
internal import Libc

/// Calls the functions of CSockets, and turns `errno` into errors.
package final class SystemSockets: SocketSystem {
  package init() {}

  package var clock: MonotonicClock { .system }

  package func makeEventQueue() throws(TransportError) -> any EventQueue { try SystemEventQueue() }

  package func listen(
    _ host: String, port: Int, backlog: Int32
  ) throws(SocketFailure) -> (socket: Int32, port: Int) {
    var bound: Int32 = 0
    let socket = unsafe dugout_listen(host, Int32(clamping: port), backlog, &bound)
    guard socket >= 0 else { throw .last }
    return (socket, Int(bound))
  }

  package func accept(_ listener: Int32) throws(SocketFailure) -> AcceptedSocket {
    let textCount = Int(DUGOUT_PEER_BYTES)
    var isLoopback: Int32 = 0
    return try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 * textCount) {
      text throws(SocketFailure) in
      guard let peer = text.baseAddress else { throw SocketFailure(code: ENOMEM) }
      let network = unsafe peer + textCount
      let socket = unsafe dugout_accept(listener, peer, network, &isLoopback)
      guard socket >= 0 else { throw .last }
      return unsafe AcceptedSocket(
        socket: socket, peer: String(cString: peer), network: String(cString: network),
        isLoopback: isLoopback != 0)
    }
  }

  package func receive(_ socket: Int32, into buffer: inout MutableRawSpan) throws(SocketFailure) -> Int {
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe dugout_receive(socket, bytes.baseAddress, bytes.count)
    }
    guard count >= 0 else { throw .last }
    return count
  }

  package func send(_ socket: Int32, _ bytes: RawSpan) throws(SocketFailure) -> Int {
    let count = unsafe bytes.withUnsafeBytes { bytes in
      unsafe dugout_send(socket, bytes.baseAddress, bytes.count)
    }
    guard count >= 0 else { throw .last }
    return count
  }

  package func shutdownSending(_ socket: Int32) { shutdown(socket, Int32(SHUT_WR)) }

  package var descriptorsMax: Int32 { dugout_descriptors_max() }

  package func openSpare() -> Int32? {
    let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    return descriptor >= 0 ? descriptor : nil
  }

  package func close(_ descriptor: Int32) { Libc.close(descriptor) }
}

extension SocketFailure {
  /// The error of the last call.
  fileprivate static var last: SocketFailure { SocketFailure(code: errno) }
}

// The interface to the network: every socket, every event and the clock of a server passes through these
// calls.
//
// Each call maps to one system call, so that a simulated network can fail, shorten or delay each of them.
// Sockets are descriptors, as those of the system: a number is used again after it was closed.

/// Creates and uses sockets. Usable from any thread.
package protocol SocketSystem: AnyObject, Sendable {
  /// The time of all time-outs.
  var clock: MonotonicClock { get }

  /// Creates a queue for the events of one loop.
  func makeEventQueue() throws(TransportError) -> any EventQueue
  /// Listens on a numeric IPv4 or IPv6 address, and returns the socket and its port.
  func listen(
    _ host: String, port: Int, backlog: Int32
  ) throws(SocketFailure) -> (socket: Int32, port: Int)
  /// Accepts a connection. Its socket does not block, and sends small packets at once.
  func accept(_ listener: Int32) throws(SocketFailure) -> AcceptedSocket
  /// Reads into the front of `buffer`, and returns the byte count; 0 is the end of what the client sends.
  func receive(_ socket: Int32, into buffer: inout MutableRawSpan) throws(SocketFailure) -> Int
  /// Sends a prefix of `bytes`, and returns its size.
  func send(_ socket: Int32, _ bytes: RawSpan) throws(SocketFailure) -> Int
  /// Ends what the server sends.
  func shutdownSending(_ socket: Int32)
  /// The number of descriptors that the process may have. Each has a lower number.
  var descriptorsMax: Int32 { get }
  /// Opens a descriptor that can be closed when a socket needs one. Returns nil if there is none.
  func openSpare() -> Int32?
  /// Closes a socket or a spare descriptor.
  func close(_ descriptor: Int32)
}

extension SocketSystem {
  package var descriptorsMax: Int32 { .max }
}

/// A connection that was accepted.
package struct AcceptedSocket: Sendable {
  package var socket: Int32
  /// The address of the client, without its port.
  package var peer: String
  /// The addresses that count as one client: the address, or the first 64 bits of an IPv6 address.
  package var network: String
  package var isLoopback: Bool

  package init(socket: Int32, peer: String, network: String, isLoopback: Bool) {
    self.socket = socket
    self.peer = peer
    self.network = network
    self.isLoopback = isLoopback
  }
}

/// A call of the system that has failed.
package struct SocketFailure: Error, Equatable {
  /// The error of the system, as in `errno`.
  package var code: Int32

  package init(code: Int32) { self.code = code }
}

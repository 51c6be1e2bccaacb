// Requests as handlers see them, whichever version of HTTP they came by.

/// A request without its body.
package struct HTTPRequest: Sendable {
  /// The method, such as `POST`.
  package var method: String
  /// The path and the query as they were sent, with percent-encoding.
  package var target: String
  /// The host that the client named, from `:authority` or `Host`, with its port. Empty if there was none.
  package var authority: String
  /// All other fields.
  package var fields: HTTPFields
  package var connection: ConnectionInfo

  package init(
    method: String, target: String, authority: String, fields: HTTPFields, connection: ConnectionInfo
  ) {
    self.method = method
    self.target = target
    self.authority = authority
    self.fields = fields
    self.connection = connection
  }
}

/// The connection of a request.
package struct ConnectionInfo: Sendable, Hashable {
  /// The number of the connection, which no other connection of the server has.
  package var number: UInt64
  /// The address of the client without its port, as in `127.0.0.1` or `::1`.
  package var peer: String
  /// The network of one client: the address, or the first 64 bits of an IPv6 address.
  package var network: String
  /// Whether the client has connected from this machine.
  package var isLoopback: Bool
  package var isEncrypted: Bool
  /// The version of HTTP: 1 or 2.
  package var version: Int
  /// The listener that accepted the connection, as its position in the configuration.
  package var listener: Int
  /// Whether the peer is a proxy, whose clients share its address and its connections.
  package var isProxy = false

  package init(
    number: UInt64, peer: String, isLoopback: Bool, isEncrypted: Bool = false, version: Int, listener: Int = 0
  ) {
    self.number = number
    self.peer = peer
    network = peer
    self.isLoopback = isLoopback
    self.isEncrypted = isEncrypted
    self.version = version
    self.listener = listener
  }
}

// Records the reports of a simulated server about its connections.

import HTTPTransport

final class NetworkObserver: TransportObserver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.

  /// The reports of one client's connection.
  struct Connection {
    var opened: UInt64?
    var closed: UInt64?
    var refusals: [(refusal: Refusal, time: UInt64, detail: String)] = []
  }

  private let network: SimulatedNetwork
  private(set) var connections: [String: Connection] = [:]
  /// Refusals of connections that were not opened.
  private(set) var refusals: [Refusal: Int] = [:]

  init(_ network: SimulatedNetwork) { self.network = network }

  func connectionOpened(_ connection: ConnectionInfo) {
    network.note(.opened, -1, Int(connection.number))
    if connections[connection.peer]?.opened != nil { network.violate("a connection is opened twice") }
    connections[connection.peer, default: Connection()].opened = network.now
  }

  func connectionClosed(_ connection: ConnectionInfo) {
    network.note(.closed, -1, Int(connection.number))
    let known = connections[connection.peer]
    if known?.opened == nil { network.violate("a connection is closed before it is opened") }
    if known?.closed != nil { network.violate("a connection is closed twice") }
    connections[connection.peer]?.closed = network.now
  }

  func refused(_ refusal: Refusal, _ connection: ConnectionInfo, detail: String) {
    network.note(.refused, -1, Int(connection.number))
    refusals[refusal, default: 0] += 1
    guard connection.number > 0 else { return }
    connections[connection.peer, default: Connection()].refusals.append((refusal, network.now, detail))
  }
}

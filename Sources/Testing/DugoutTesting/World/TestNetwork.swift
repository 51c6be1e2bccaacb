// The network between the clients and the authority.

internal import Authority
internal import ByteStore
internal import OfflineSync

/// The network of a world. Each client has its own connection to the authority.
public struct TestNetwork: Sendable {
  let clients: @Sendable () -> [TestClient]
  let initial: Locked<NetworkFaults>

  /// Cuts the connection of a client. Messages in transit are lost, and new connections fail.
  public func cut(_ client: TestClient) { client.connection.remote.setReachable(false) }

  /// Ends a cut. The client connects at its next attempt, which may take up to a minute of virtual time.
  public func restore(_ client: TestClient) { client.connection.remote.setReachable(true) }

  /// Cuts the connections of all clients.
  public func cutAll() { for client in clients() { cut(client) } }

  /// Ends the cuts of all clients.
  public func restoreAll() { for client in clients() { restore(client) } }

  /// Changes the faults of one client's connection from now on.
  public func setFaults(_ faults: NetworkFaults, of client: TestClient) {
    client.connection.remote.setFaults(faults.loopback)
  }

  /// Changes the faults of all connections from now on, also those of clients that are created later.
  public func setFaults(_ faults: NetworkFaults) {
    initial.withLock { $0 = faults }
    for client in clients() { setFaults(faults, of: client) }
  }
}

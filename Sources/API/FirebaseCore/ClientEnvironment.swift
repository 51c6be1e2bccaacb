// The surroundings of a client in a simulation.

package import ByteStore
package import OfflineSync

/// The clock, the disk and the queues that a simulated client uses in place of the machine's.
package final class ClientEnvironment: Sendable {
  package let name: String
  /// The user with whom the client starts.
  package let user: String?
  package let simulation: any Simulation
  /// The platform of the client's store.
  package let platform: Platform
  /// Called when the store is open, with the client's driver.
  package let attached: @Sendable (SyncDriver) -> Void

  package init(
    name: String, user: String?, simulation: any Simulation, platform: Platform,
    attached: @escaping @Sendable (SyncDriver) -> Void
  ) {
    self.name = name
    self.user = user
    self.simulation = simulation
    self.platform = platform
    self.attached = attached
  }

  var identity: ClientIdentity {
    ClientIdentity(
      name: name, user: user, run: RunID(simulation.random()), seed: simulation.random(),
      scheduler: simulation)
  }
}

// The monitor of the network of this system.
//
//   1. With the first observer, the source of the system is opened. With the last one, it is closed.
//   2. Some time after the source has noticed a change, the status is read. Changes of this time are read
//      together, so a flood of them costs a few reads each second.
//   3. Observers are called if the status differs from the last one. Most changes do not concern the path
//      over which this device reaches the network: an address is renewed, or the interface of a container
//      comes or goes.
//
// Where the system lets no process watch its network, as in some containers, the monitor has no status.

internal import ByteStore
package import OfflineSync

/// The system's knowledge of the network.
package protocol NetworkSource: Sendable {
  /// Reads the status; nil if it cannot be read.
  func status() -> NetworkStatus?
  /// Ends the source. It notices no more changes.
  func close()
}

package final class SystemNetworkMonitor: NetworkMonitor {
  /// Opens a source, which calls the closure when it has noticed a change. Returns nil if there is none.
  package typealias Opening =
    @Sendable (_ changed: @escaping @Sendable () -> Void) -> (any NetworkSource)?

  /// The monitor that all remotes of this process share.
  package static let shared = SystemNetworkMonitor(
    on: QueueScheduler(label: "dugout.network")
  ) { changed in
    #if canImport(Darwin) && canImport(Network)
    PathMonitorSource(changed)
    #elseif os(Linux) || os(Android)
    NetlinkSource(changed)
    #else
    nil
    #endif
  }

  /// The time between a change and the reading of the status, in microseconds.
  package static let delay: Int64 = 200_000

  private struct State {
    var observers: [Int: @Sendable () -> Void] = [:]
    var lastNumber = 0
    /// Changed on the scheduler only.
    var source: (any NetworkSource)?
    var status: NetworkStatus?
    var isReadScheduled = false
  }

  private let scheduler: any SyncScheduler
  private let open: Opening
  private let state = Locked(State())

  package init(on scheduler: any SyncScheduler, open: @escaping Opening) {
    self.scheduler = scheduler
    self.open = open
  }

  package var status: NetworkStatus? { state.withLock { $0.status } }

  package func observe(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = handler
      return state.lastNumber
    }
    scheduler.run { [self] in openIfUsed() }
    return { [self] in
      let gone = state.withLock { $0.observers.removeValue(forKey: number) }
      withExtendedLifetime(gone) {}
      scheduler.run { [self] in closeIfUnused() }
    }
  }

  // MARK: On the scheduler

  private func openIfUsed() {
    guard state.withLock({ $0.source == nil && !$0.observers.isEmpty }) else { return }
    let source = open { [weak self] in self?.scheduler.run { [weak self] in self?.noteChange() } }
    state.withLock { $0.source = source }
    readStatus()
  }

  private func closeIfUnused() {
    let unused = state.withLock { state -> (any NetworkSource)? in
      guard state.observers.isEmpty else { return nil }
      defer { (state.source, state.status) = (nil, nil) }
      return state.source
    }
    unused?.close()
  }

  private func noteChange() {
    let isFirst = state.withLock { state in
      guard state.source != nil, !state.isReadScheduled else { return false }
      state.isReadScheduled = true
      return true
    }
    guard isFirst else { return }
    scheduler.run(after: Self.delay) { [weak self] in
      self?.state.withLock { $0.isReadScheduled = false }
      self?.readStatus()
    }
  }

  private func readStatus() {
    guard let source = state.withLock({ $0.source }), let status = source.status() else { return }
    let observers = state.withLock { state in
      guard state.status != status else { return [Int: @Sendable () -> Void]() }
      state.status = status
      return state.observers
    }
    for (_, handler) in observers.sorted(by: { $0.key < $1.key }) { handler() }
  }
}

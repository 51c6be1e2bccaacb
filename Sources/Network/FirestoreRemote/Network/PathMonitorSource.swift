// The network of Apple's systems.

#if canImport(Darwin) && canImport(Network)
internal import ByteStore
internal import Dispatch
internal import Network
internal import OfflineSync

final class PathMonitorSource: NetworkSource, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the system's monitor is usable from any thread.
  private let monitor = NWPathMonitor()
  private let latest = Locked<NetworkStatus?>(nil)

  init(_ changed: @escaping @Sendable () -> Void) {
    monitor.pathUpdateHandler = { [latest] path in
      latest.withLock { $0 = Self.status(path) }
      changed()
    }
    monitor.start(queue: DispatchQueue(label: "dugout.network.changes"))
  }

  func close() { monitor.cancel() }

  func status() -> NetworkStatus? { latest.withLock { $0 } }

  private static func status(_ path: NWPath) -> NetworkStatus {
    guard path.status != .unsatisfied else { return .unavailable }
    // The first interface is the one that connections use.
    let interface = path.availableInterfaces.first?.name ?? "other"
    let gateways = path.gateways.map { "\($0)" }
    let isMetered = path.isExpensive || path.isConstrained
    let name = ([interface] + gateways).joined(separator: " ")
    return .available(NetworkPath(name, isMetered ? .metered : .unmetered))
  }
}
#endif

// The source of the state of the device's network.

internal import ByteStore

/// Knows the state of the device's network, and notices its changes.
///
/// A monitor informs a client, and never keeps it from connecting. Without a network, the client is offline
/// at once, and its attempts to connect go on. When the path changes, it connects again at once.
public protocol NetworkMonitor: Sendable {
  /// The current status; nil if it is not known. Must not block.
  var status: NetworkStatus? { get }

  /// Calls `handler` after each change of `status`, from any thread, until the returned closure is called.
  func observe(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}

/// A monitor whose status the app reports, because it knows more about the network than the system does.
///
/// ```swift
/// import OfflineSync
///
/// let network = ReportedNetworkMonitor()
/// network.report(.available(NetworkPath("mobile", .metered)))
/// ```
///
/// Usable from any thread.
public final class ReportedNetworkMonitor: NetworkMonitor {
  private struct State {
    var status: NetworkStatus?
    var handlers: [Int: @Sendable () -> Void] = [:]
    var lastNumber = 0
  }

  private let state: Locked<State>

  /// Creates a monitor that reports this status, or none until the first call of `report(_:)`.
  public init(_ status: NetworkStatus? = nil) { state = Locked(State(status: status)) }

  public var status: NetworkStatus? { state.withLock { $0.status } }

  /// Reports the status from now on.
  public func report(_ status: NetworkStatus) {
    let handlers = state.withLock { state in
      guard state.status != status else { return [Int: @Sendable () -> Void]() }
      state.status = status
      return state.handlers
    }
    for (_, handler) in handlers.sorted(by: { $0.key < $1.key }) { handler() }
  }

  public func observe(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.handlers[state.lastNumber] = handler
      return state.lastNumber
    }
    return { [weak self] in
      let gone = self?.state.withLock { $0.handlers.removeValue(forKey: number) }
      withExtendedLifetime(gone) {}
    }
  }
}

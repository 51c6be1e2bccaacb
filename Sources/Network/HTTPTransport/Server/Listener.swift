// A listening socket on the first loop.

internal import CSockets
internal import Libc
internal import Synchronization

/// Accepts connections and gives them to loops.
final class Listener: EventReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `spare` and `pausedUntil` are only used on the first loop.
  private static let acceptedMax = 64
  private static let backlog: Int32 = 1024
  private static let pauseNanoseconds: UInt64 = 100_000_000

  let port: Int
  private let socket: Int32
  private let index: Int
  private let isEncrypted: Bool
  private let number: UInt64
  private let loops: [EventLoop]
  private let shared: SharedServer
  /// A descriptor that is given up to refuse a connection if the process has no more descriptors.
  private var spare: Int32 = -1
  private var isStopped = false

  init(
    _ address: ListenAddress, index: Int, loops: [EventLoop], shared: SharedServer
  ) throws(TransportError) {
    var bound: Int32 = 0
    socket = unsafe dugout_listen(address.host, Int32(clamping: address.port), Self.backlog, &bound)
    guard socket >= 0 else { throw .address(address.host, port: address.port, error: errno) }
    port = Int(bound)
    self.index = index
    isEncrypted = address.isEncrypted
    number = shared.nextNumber()
    self.loops = loops
    self.shared = shared
  }

  /// Closes a listener that was not started.
  func closeUnused() { close(socket) }

  func start() {
    spare = Self.openSpare()
    _ = loops[0].add(self, socket, number: number, reads: true, writes: false)
  }

  func ready(canRead: Bool, canWrite: Bool, hasFailed: Bool) {
    for _ in 0..<Self.acceptedMax {
      guard !isStopped, accept() else { return }
    }
  }

  func turnEnded() {}

  func tick(now: UInt64) {
    if spare < 0 { spare = Self.openSpare() }
  }

  func stop() {
    guard !isStopped else { return }
    isStopped = true
    loops[0].remove(number: number)
    close(socket)
    if spare >= 0 { close(spare) }
  }

  /// Returns whether there may be more connections.
  private func accept() -> Bool {
    let (socket, address) = acceptSocket()
    guard socket >= 0 else { return isWorthAnother(-socket) }
    let info = ConnectionInfo(
      number: shared.nextNumber(), peer: address.peer, isLoopback: address.isLoopback,
      isEncrypted: isEncrypted, version: 0, listener: index)
    guard let loop = shared.admit(info, of: address.network) else {
      close(socket)
      return true
    }
    loops[loop].execute { [shared, loop = loops[loop], position = loop] in
      shared.open(socket, info, on: loop, at: position)
    }
    return true
  }

  private func isWorthAnother(_ error: Int32) -> Bool {
    switch error {
    case ECONNABORTED, EINTR: return true
    case EMFILE, ENFILE, ENOBUFS, ENOMEM:
      refuseForLackOfDescriptors()
      return false
    default: return false
    }
  }

  /// Accepts a connection with the spare descriptor and closes it, so that the client does not wait.
  private func refuseForLackOfDescriptors() {
    let info = ConnectionInfo(number: 0, peer: "", isLoopback: false, version: 0, listener: index)
    shared.observer.refused(.descriptors, info, detail: "the process has no more descriptors")
    guard spare >= 0 else { return }
    close(spare)
    let (socket, _) = acceptSocket()
    if socket >= 0 { close(socket) }
    spare = Self.openSpare()
  }

  private struct ClientAddress {
    var peer = ""
    /// The addresses that count as one client.
    var network = ""
    var isLoopback = false
  }

  /// Accepts a connection. Returns a negative error if there is none.
  private func acceptSocket() -> (Int32, ClientAddress) {
    let textCount = Int(DUGOUT_PEER_BYTES)
    var isLoopback: Int32 = 0
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 * textCount) { text in
      guard let peer = text.baseAddress else { return (-EINVAL, ClientAddress()) }
      let network = unsafe peer + textCount
      let socket = unsafe dugout_accept(self.socket, peer, network, &isLoopback)
      guard socket >= 0 else { return (-errno, ClientAddress()) }
      let address = unsafe ClientAddress(
        peer: String(cString: peer), network: String(cString: network), isLoopback: isLoopback != 0)
      return (socket, address)
    }
  }

  private static func openSpare() -> Int32 { unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }
}

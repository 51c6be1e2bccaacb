// A listening socket on the first loop.

internal import Libc
internal import Synchronization

/// Accepts connections and gives them to loops.
final class Listener: EventReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: its variables are only used on the first loop.
  private static let acceptedMax = 64
  private static let backlog: Int32 = 1024
  private static let restNanoseconds: UInt64 = 100_000_000

  let port: Int
  private let socket: Int32
  private let index: Int
  private let isEncrypted: Bool
  private let number: UInt64
  private let loops: [EventLoop]
  private let sockets: any SocketSystem
  private let shared: SharedServer
  /// A descriptor that is given up to refuse a connection if the process has no more descriptors.
  private var spare: Int32?
  /// Connections with this descriptor or a higher one are refused, so that the stores can open their files.
  private var descriptorsEnd = Int32.max
  private var isStopped = false

  init(
    _ address: ListenAddress, index: Int, loops: [EventLoop], shared: SharedServer
  ) throws(TransportError) {
    sockets = loops[0].sockets
    do throws(SocketFailure) {
      (socket, port) = try sockets.listen(address.host, port: address.port, backlog: Self.backlog)
    } catch {
      throw .address(address.host, port: address.port, error: error.code)
    }
    self.index = index
    isEncrypted = address.isEncrypted
    number = shared.nextNumber()
    self.loops = loops
    self.shared = shared
  }

  /// Closes a listener that was not started.
  func closeUnused() { sockets.close(socket) }

  func start() {
    spare = sockets.openSpare()
    readLimit()
    _ = loops[0].add(self, socket, number: number, reads: true, writes: false)
  }

  func ready(canRead: Bool, canWrite: Bool, hasFailed: Bool) {
    for _ in 0..<Self.acceptedMax {
      guard !isStopped, accept() else { return }
    }
  }

  var isCostly: Bool { false }

  func turnEnded() {}

  func tick(now: UInt64) {
    if spare == nil { spare = sockets.openSpare() }
    readLimit()
  }

  private func readLimit() {
    descriptorsEnd = SharedServer.descriptorsEnd(
      limit: sockets.descriptorsMax, hasReserve: shared.hasReserve(index))
  }

  func stop() {
    guard !isStopped else { return }
    isStopped = true
    loops[0].remove(number: number)
    sockets.close(socket)
    if let spare { sockets.close(spare) }
  }

  /// Returns whether there may be more connections.
  private func accept() -> Bool {
    let accepted: AcceptedSocket
    do throws(SocketFailure) { accepted = try sockets.accept(socket) } catch {
      return isWorthAnother(error.code)
    }
    var info = ConnectionInfo(
      number: shared.nextNumber(), peer: accepted.peer, isLoopback: accepted.isLoopback,
      isEncrypted: isEncrypted, version: 0, listener: index)
    info.network = accepted.network
    info.isProxy = shared.isProxy(accepted.peer)
    guard accepted.socket < descriptorsEnd else {
      sockets.close(accepted.socket)
      shared.observer.refused(.descriptors, info, detail: "the rest is for the files of the process")
      return true
    }
    guard let loop = shared.admit(info, of: accepted.network) else {
      sockets.close(accepted.socket)
      return true
    }
    loops[loop].execute { [shared, info, loop = loops[loop], position = loop] in
      shared.open(accepted.socket, info, on: loop, at: position)
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

  /// Accepts a connection with the spare descriptor and closes it, so that the client does not wait. If that
  /// fails, the listener rests for a while, because its socket would stay ready.
  private func refuseForLackOfDescriptors() {
    let info = ConnectionInfo(number: 0, peer: "", isLoopback: false, version: 0, listener: index)
    shared.observer.refused(.descriptors, info, detail: "the process has no more descriptors")
    guard let spare else { return rest() }
    sockets.close(spare)
    let accepted = try? sockets.accept(socket)
    if let accepted { sockets.close(accepted.socket) }
    self.spare = sockets.openSpare()
    if accepted == nil || self.spare == nil { rest() }
  }

  private func rest() {
    loops[0].change(socket, number: number, reads: false, writes: false)
    _ = loops[0].after(Self.restNanoseconds) { [weak self] in
      guard let self, !isStopped else { return }
      loops[0].change(socket, number: number, reads: true, writes: false)
    }
  }
}

// An event loop on the caller's thread, for clients and proxies that a test runs together.

#if Server
import Foundation

/// Waits for sockets and timers. Used by one thread.
package final class PollLoop {
  /// A block that runs once, unless it is cancelled.
  package final class Timer {
    fileprivate let end: UInt64
    fileprivate var block: (() -> Void)?

    fileprivate init(_ end: UInt64, _ block: @escaping () -> Void) {
      self.end = end
      self.block = block
    }

    package func cancel() { block = nil }
  }

  private var sockets: [any PolledDescriptor] = []
  private var timers: [Timer] = []

  package init() {}

  func add(_ socket: any PolledDescriptor) { sockets.append(socket) }

  @discardableResult
  package func after(milliseconds: Int, _ block: @escaping () -> Void) -> Timer {
    let timer = Timer(Self.now + UInt64(milliseconds) * 1_000_000, block)
    timers.append(timer)
    return timer
  }

  /// Runs until the condition holds. Returns false if it does not in time.
  package func run(seconds: Double, until isDone: () throws -> Bool) rethrows -> Bool {
    let end = Self.now + UInt64(seconds * 1e9)
    while try !isDone() {
      let now = Self.now
      guard now < end else { return false }
      let next = timers.reduce(end) { $1.block == nil ? $0 : min($0, $1.end) }
      wait(nanoseconds: next > now ? next - now : 0)
      runTimers()
    }
    return true
  }

  private func wait(nanoseconds: UInt64) {
    sockets.removeAll { $0.isClosed }
    let polled = sockets
    var entries = polled.map { socket in
      pollfd(
        fd: socket.descriptor,
        events: Int16((socket.wantsToRead ? POLLIN : 0) | (socket.wantsToWrite ? POLLOUT : 0)), revents: 0)
    }
    // Rounded up, so that a timer is due when the wait ends.
    let milliseconds = Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
    guard poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { return }
    for (socket, entry) in zip(polled, entries) where entry.revents != 0 && !socket.isClosed {
      if entry.revents & Int16(POLLOUT) != 0 { socket.write() }
      if entry.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0, !socket.isClosed { socket.read() }
    }
  }

  private func runTimers() {
    let now = Self.now
    let due = timers.filter { $0.end <= now }.sorted { $0.end < $1.end }
    timers.removeAll { $0.end <= now || $0.block == nil }
    for timer in due { timer.block.take()?() }
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// A descriptor that a loop waits for.
protocol PolledDescriptor: AnyObject {
  var descriptor: Int32 { get }
  var isClosed: Bool { get }
  var wantsToRead: Bool { get }
  var wantsToWrite: Bool { get }
  func read()
  func write()
}
#endif

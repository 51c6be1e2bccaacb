// The events of a loop, by the event queue of the system.

internal import CSockets
internal import Libc

/// An event queue of the system with a wake-up.
final class SystemEventQueue: EventQueue {
  private static let readyMax = 256
  /// The number of the wake-up. Connections have positive numbers.
  private static let wakerNumber: UInt64 = 0

  private let queue: Int32
  private let readEnd: Int32
  private let writeEnd: Int32

  init() throws(TransportError) {
    queue = dugout_queue_create()
    guard queue >= 0 else { throw .system(call: "epoll_create", error: errno) }
    var ends: (Int32, Int32) = (-1, -1)
    guard unsafe dugout_waker_create(&ends.0, &ends.1) == 0 else {
      let error = errno
      close(queue)
      throw .system(call: "eventfd", error: error)
    }
    (readEnd, writeEnd) = ends
    guard dugout_queue_add(queue, readEnd, Self.wakerNumber, 1, 0) == 0 else {
      throw .system(call: "epoll_ctl", error: errno)
    }
  }

  deinit {
    close(queue)
    close(readEnd)
    if writeEnd != readEnd { close(writeEnd) }
  }

  func add(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) -> Bool {
    dugout_queue_add(queue, descriptor, number, reads ? 1 : 0, writes ? 1 : 0) == 0
  }

  func change(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) {
    _ = dugout_queue_change(queue, descriptor, number, reads ? 1 : 0, writes ? 1 : 0)
  }

  func wake() { dugout_waker_wake(writeEnd) }

  func wait(milliseconds: Int32, _ body: (ReadyDescriptor) -> Void) {
    unsafe withUnsafeTemporaryAllocation(of: dugout_ready.self, capacity: Self.readyMax) { ready in
      let count = unsafe dugout_queue_wait(
        queue, ready.baseAddress, Int32(Self.readyMax), milliseconds)
      guard count > 0 else { return }
      for index in 0..<Int(count) {
        let event = unsafe ready[index]
        guard event.number != Self.wakerNumber else {
          dugout_waker_clear(readEnd)
          continue
        }
        body(
          ReadyDescriptor(
            number: event.number, canRead: event.can_read != 0, canWrite: event.can_write != 0,
            hasFailed: event.has_failed != 0))
      }
    }
  }
}

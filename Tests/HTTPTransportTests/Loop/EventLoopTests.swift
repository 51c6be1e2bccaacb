#if Server
import ByteStore
import Foundation
import Testing

@testable import HTTPTransport

@Suite struct EventLoopTests {
  /// Notes that its descriptor is ready, which it always is.
  private final class Reader: EventReceiver {
    let isCostly: Bool
    private let note: () -> Void

    init(isCostly: Bool = false, _ note: @escaping () -> Void) {
      self.isCostly = isCostly
      self.note = note
    }

    func ready(canRead: Bool, canWrite: Bool, hasFailed: Bool) { note() }
    func turnEnded() {}
    func tick(now: UInt64) {}
    func stop() {}
  }

  @Test func blocksThatTakeLongDoNotDelayConnections() throws {
    let loop = try EventLoop(SystemSockets())
    var descriptors: [Int32] = [0, 0]
    #expect(pipe(&descriptors) == 0)
    defer { for descriptor in descriptors { close(descriptor) } }
    #expect(write(descriptors[1], "x", 1) == 1)
    let order = Locked<[String]>([])
    let reader = Reader { order.withLock { $0.append("connection") } }
    #expect(loop.add(reader, descriptors[0], number: 1, reads: true, writes: false))
    for number in 1...3 {
      loop.execute {
        order.withLock { $0.append("block \(number)") }
        let end = DispatchTime.now() + .milliseconds(2)
        while DispatchTime.now() < end {}
      }
    }
    loop.execute { order.withLock { $0.append("last") } }
    for _ in 0..<4 { #expect(loop.runTurn()) }
    let expected = (1...3).flatMap { ["connection", "block \($0)"] } + ["connection", "last"]
    #expect(order.withLock { $0 } == expected)
  }

  @Test func costlyConnectionsTakeTurnsAndDelayOthersByOneTimeSlice() throws {
    let loop = try EventLoop(SystemSockets())
    var descriptors: [Int32] = [0, 0]
    #expect(pipe(&descriptors) == 0)
    defer { for descriptor in descriptors { close(descriptor) } }
    #expect(write(descriptors[1], "x", 1) == 1)
    let order = Locked<[String]>([])
    var readers: [Reader] = []
    for number in 1...4 as ClosedRange<UInt64> {
      let reader = Reader(isCostly: number != 3) {
        order.withLock { $0.append("\(number)") }
        let end = DispatchTime.now() + .milliseconds(2)
        while number != 3, DispatchTime.now() < end {}
      }
      readers.append(reader)
      // A descriptor is registered once, so each receiver has a copy.
      let descriptor = dup(descriptors[0])
      descriptors.append(descriptor)
      #expect(loop.add(reader, descriptor, number: number, reads: true, writes: false))
    }
    for _ in 0..<4 { #expect(loop.runTurn()) }
    #expect(order.withLock { $0 } == ["3", "1", "3", "2", "3", "4", "3", "1"])
    withExtendedLifetime(readers) {}
  }

  @Test func anEndedLoopKeepsNoBlocks() throws {
    final class Held: Sendable {}
    let loop = try EventLoop(SystemSockets())
    loop.runEnd()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      loop.execute { [loop] in withExtendedLifetime((loop, object)) {} }
    }
    #expect(held == nil)
  }

  @Test func theEndOfALoopRunsAllBlocks() throws {
    let loop = try EventLoop(SystemSockets())
    let count = Locked(0)
    for _ in 0..<3 {
      loop.execute {
        count.withLock { $0 += 1 }
        let end = DispatchTime.now() + .milliseconds(1)
        while DispatchTime.now() < end {}
      }
    }
    #expect(loop.runTurn())
    // This one waits behind the rest of the turn.
    loop.execute { count.withLock { $0 += 1 } }
    loop.runEnd()
    #expect(count.withLock { $0 } == 4)
  }

  @Test func anEndedLoopKeepsNoTimers() throws {
    final class Held: Sendable {}
    let loop = try EventLoop(SystemSockets())
    weak var held: Held?
    do {
      let object = Held()
      held = object
      _ = loop.after(1_000_000_000_000) { [loop] in withExtendedLifetime((loop, object)) {} }
    }
    #expect(held != nil)
    loop.runEnd()
    #expect(held == nil)
  }
}
#endif

// The messages of one client's connection, which are in transit until they arrive.

internal import ByteStore
internal import OfflineSync

/// A part of a world's scheduler that counts its bodies.
final class NetworkLane: SyncScheduler {
  private let world: WorldScheduler
  private let inTransit = Locked(0)

  init(_ world: WorldScheduler) { self.world = world }

  /// The number of messages that have not arrived.
  var inTransitCount: Int { inTransit.withLock { $0 } }

  var isCurrent: Bool { world.isCurrent }
  var simulation: (any Simulation)? { world }

  func now() -> Int64 { world.now() }

  func run(_ body: @escaping @Sendable () -> Void) { run(after: 0, body) }

  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    inTransit.withLock { $0 += 1 }
    world.run(after: microseconds) { [inTransit] in
      inTransit.withLock { $0 -= 1 }
      body()
    }
  }
}

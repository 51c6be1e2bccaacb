// A simulation on one thread: queues, timers and messages run while the test lets the time pass.

import Authority
import ByteStore
import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Foundation
import Harness
import OfflineSync

/// The test must not await anything, because no other thread plays the simulation.
final class PlayedSimulation: Simulation {
  private let scheduler = VirtualScheduler()
  private let rng = Locked(SplitMix64(seed: 1))

  var isCurrent: Bool { true }
  var simulation: (any Simulation)? { self }

  func now() -> Int64 { scheduler.now() }
  func random() -> UInt64 { rng.withLock { $0.next() } }
  func run(_ body: @escaping @Sendable () -> Void) { scheduler.run(body) }
  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    scheduler.run(after: microseconds, body)
  }

  func pass(seconds: Int64) { scheduler.play(for: seconds * 1_000_000) }

  /// Drops everything that has not run.
  func clear() { scheduler.clear() }

  // MARK: Threads

  func drain(until isOver: () -> Bool) { while !isOver(), scheduler.play(for: 0, max: 1) > 0 {} }

  func perform(_ body: () -> Void) {
    scheduler.play(for: 0)
    body()
  }

  func startThread(_ body: @escaping @Sendable () -> Void) { run(body) }

  func suspend(_ begin: (_ resume: @escaping @Sendable () -> Void) -> Void) {
    let isResumed = Locked(false)
    begin { isResumed.withLock { $0 = true } }
    while !isResumed.withLock({ $0 }), scheduler.play(max: 1) > 0 {}
  }

  func pause(_ microseconds: Int64, then body: @escaping @Sendable () -> Void) {
    run(after: microseconds, body)
  }

  func hold() -> @Sendable (_ body: @escaping @Sendable () -> Void) -> Void {
    { [scheduler] body in scheduler.run(body) }
  }
}

/// A database with a remote, on a disk that can be filled.
final class SimulatedDatabase {
  let simulation = PlayedSimulation()
  let disk = SimulatedDisk()
  let authority: DocumentStore
  let remote: LoopbackRemote
  let firestore: Firestore
  private let driver = Locked<SyncDriver?>(nil)

  init(_ change: (FirestoreSettings) -> Void = { _ in }) throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority, faults: LoopbackFaults(), seed: 1, on: simulation)
    let settings = FirestoreSettings()
    settings.remote = remote
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    change(settings)
    let driver = driver
    settings.environment = ClientEnvironment(
      name: "client", user: nil, simulation: simulation, platform: disk.platform(seed: 1),
      attached: { attached in driver.withLock { $0 = attached } })
    firestore = Firestore.simulated(settings)
  }

  deinit { simulation.clear() }

  func pass(seconds: Int64) { simulation.pass(seconds: seconds) }

  /// Commits a document at the authority.
  func put(_ path: String, _ n: Int64) throws {
    let path = DocumentPath(unchecked: path.split(separator: "/").map(String.init))
    _ = try authority.commit([.set(path, StoredMap([("n", .integer(n))]))])
    remote.refresh()
  }

  /// Takes all space from the disk. The database must be open.
  func fillDisk() { driver.withLock { $0 }?.store.fill(disk) }

  func freeDisk() { disk.setCapacity(nil) }
}

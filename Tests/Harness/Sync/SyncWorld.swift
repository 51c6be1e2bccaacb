// The surroundings of a history of clients: their authority, their connection to it, and time.

import Authority
import ByteStore
package import DocumentStore
package import OfflineSync

/// A scheduler whose jobs run while a test plays it, on the thread of the test.
package protocol PlayedScheduler: SyncScheduler {
  /// The total number of jobs that were ever scheduled.
  var jobCount: Int { get }
  /// Runs the jobs that are due within the given time in microseconds.
  func play(for microseconds: Int64)
  /// Drops all jobs. Others are not added after this call.
  func end()
}

/// The surroundings of a history. Used on one thread.
package protocol SyncWorld: AnyObject {
  var scheduler: any PlayedScheduler { get }
  /// The documents of the authority.
  var authority: DocumentStore { get }
  /// A connection of one client to the authority.
  func makeRemote() -> any Remote
  /// Refuses writes for which the closure returns an error.
  func setRule(_ mayWrite: @escaping @Sendable ([Mutation]) -> RemoteError?)
  /// Chooses faults of the connection at random.
  func chooseFaults(_ random: inout SeededRandom)
  func endFaults()
  func setReachable(_ isReachable: Bool)
  /// Lets the authority look for writes that did not come through it.
  func refresh()
  /// Restarts the authority now and then, while it is not reachable.
  func restartIfDue() throws
  /// Plays until the condition holds, for this time at most.
  func play(for microseconds: Int64, until isDone: () -> Bool)
  /// Ends the authority.
  func close()
}

/// An authority in this process, in virtual time.
final class LoopbackSyncWorld: SyncWorld {
  private let virtual = VirtualScheduler()
  let authority: DocumentStore
  private let remote: LoopbackRemote

  init(seed: UInt64, random: inout SeededRandom) throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    authority = try DocumentStore.open(
      "/authority", options: options, platform: SimulatedDisk().platform(seed: seed))
    remote = try LoopbackRemote(
      authority: authority, faults: LoopbackFaults(), seed: random.next(), on: virtual)
  }

  var scheduler: any PlayedScheduler { virtual }

  func makeRemote() -> any Remote { remote }

  func setRule(_ mayWrite: @escaping @Sendable ([Mutation]) -> RemoteError?) {
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in mayWrite(mutations) }
    remote.setRules(rules)
  }

  func chooseFaults(_ random: inout SeededRandom) {
    var faults = LoopbackFaults()
    faults.latency = 0...Int64(1 + random.below(80_000))
    if random.oneIn(2) { faults.lossOneIn = 8 + random.below(60) }
    if random.oneIn(2) { faults.duplicationOneIn = 2 + random.below(10) }
    if random.oneIn(3) { faults.transientRejectionOneIn = 3 + random.below(10) }
    faults.reorders = random.oneIn(2)
    remote.setFaults(faults)
  }

  func endFaults() { remote.setFaults(LoopbackFaults()) }

  func setReachable(_ isReachable: Bool) { remote.setReachable(isReachable) }

  func refresh() { remote.refresh() }

  func restartIfDue() {}

  func play(for microseconds: Int64, until isDone: () -> Bool) { virtual.play(for: microseconds) }

  func close() {}
}

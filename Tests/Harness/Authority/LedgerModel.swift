// What the ledger of an authority must do with writes that carry an identity.
//
//   accepted(id)  ⇔  the word of id is in the list of words of its queue
//   counter(queue) = the number of words of the queue
//
// A write that was accepted is answered as before, and changes nothing. A refused write changes nothing.

import DocumentStore
import OfflineSync

struct LedgerModel {
  struct Accepted {
    var mutations: [Mutation]
    /// The answer; nil if the authority died before it answered.
    var answer: (version: SnapshotVersion, results: [WriteResult])?
  }

  private(set) var accepted: [WriteID: Accepted] = [:]
  /// The runs that were named last for each queue. All other runs of the queue are finished.
  private var openRuns: [String: Set<RunID>] = [:]
  /// The time at which the ledger was last used for each run.
  private var lastSeen: [String: Int64] = [:]
  /// The first write of each run that may still be unanswered, according to the writes that have arrived.
  private var firstOpen: [String: BatchID] = [:]

  /// Whether the client no longer sends the write, according to the writes that have arrived.
  func isAnswered(_ id: WriteID) -> Bool { firstOpen[Self.run(id)].map { id.batch < $0 } ?? false }

  mutating func note(_ write: RemoteWrite, at time: Int64) {
    let run = Self.run(write.id)
    lastSeen[run] = time
    firstOpen[run] = max(firstOpen[run] ?? write.firstOpen, write.firstOpen)
  }

  mutating func register(_ runs: [RunRegistration], at time: Int64) {
    guard let queue = runs.first?.queue else { return }
    openRuns[queue] = Set(runs.map(\.run))
    for run in runs { lastSeen["\(queue):\(run.run)"] = time }
  }

  func isFinished(_ id: WriteID) -> Bool { openRuns[id.queue].map { !$0.contains(id.run) } ?? false }

  /// Whether the ledger may have forgotten the run.
  func isForgotten(_ id: WriteID, at time: Int64) -> Bool {
    lastSeen[Self.run(id)].map { time - $0 > Self.lifetime } ?? true
  }

  /// A run may be forgotten on the last of ninety days.
  private static let lifetime: Int64 = 89 * 86_400_000_000

  mutating func accept(
    _ write: RemoteWrite, _ answer: (version: SnapshotVersion, results: [WriteResult])?
  ) {
    accepted[write.id] = Accepted(mutations: write.mutations, answer: answer)
  }

  private static func run(_ id: WriteID) -> String { "\(id.queue):\(id.run)" }
}

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
    var write: RemoteWrite
    /// The answer; nil if the authority died before it answered.
    var answer: (version: SnapshotVersion, results: [WriteResult])?
  }

  private(set) var accepted: [WriteID: Accepted] = [:]
  /// The runs that were named last for each queue. All other runs of the queue are finished.
  private var openRuns: [String: Set<RunID>] = [:]
  /// The first write of each run that may still be unanswered, according to the writes that have arrived.
  private var firstOpen: [String: BatchID] = [:]

  /// Whether the client no longer sends the write, according to the writes that have arrived.
  func isAnswered(_ id: WriteID) -> Bool { firstOpen[Self.run(id)].map { id.batch < $0 } ?? false }

  func isFinished(_ id: WriteID) -> Bool { openRuns[id.queue].map { !$0.contains(id.run) } ?? false }

  mutating func register(_ runs: [RunRegistration]) {
    guard let queue = runs.first?.queue else { return }
    openRuns[queue] = Set(runs.map(\.run))
  }

  mutating func accept(
    _ write: RemoteWrite, _ answer: (version: SnapshotVersion, results: [WriteResult])?
  ) {
    accepted[write.id] = Accepted(write: write, answer: answer)
    let run = Self.run(write.id)
    firstOpen[run] = max(firstOpen[run] ?? write.firstOpen, write.firstOpen)
  }

  private static func run(_ id: WriteID) -> String { "\(id.queue):\(id.run)" }
}

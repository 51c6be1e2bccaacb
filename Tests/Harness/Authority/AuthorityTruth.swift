// The documents of the authority after each of its commits.
//
//   documents at T = the documents after the last commit whose time is not after T
//
// A crash or a restore begins a new list of states, because it may have dropped the last commits.

import DocumentStore
import OfflineSync

struct AuthorityTruth {
  private struct State {
    var time: SnapshotVersion
    var documents: [DocumentPath: StoredDocument]
  }

  private var states: [State] = [State(time: .none, documents: [:])]

  /// The documents after the last commit.
  var current: [DocumentPath: StoredDocument] { states[states.count - 1].documents }

  /// The time of the last commit that changed documents in this list of states; `none` if there is none.
  var time: SnapshotVersion { states[states.count - 1].time }

  /// Forgets all states. The given documents are the only known state.
  mutating func begin(with documents: [DocumentPath: StoredDocument]) {
    states = [State(time: .none, documents: documents)]
  }

  /// Records the contents of documents after a commit at `time`. Throws if the time does not ascend.
  mutating func note(_ documents: [DocumentPath: StoredDocument?], at time: SnapshotVersion) throws {
    var next = current
    for (path, document) in documents { next[path] = document }
    guard time > self.time else {
      throw Violation(
        "a commit has the time \(time.microseconds), and the last one \(self.time.microseconds)")
    }
    states.append(State(time: time, documents: next))
  }

  /// The documents as of a time, in no particular order.
  func documents(at time: SnapshotVersion) -> [StoredDocument] {
    let state = states.last { $0.time <= time } ?? states[0]
    return Array(state.documents.values)
  }
}

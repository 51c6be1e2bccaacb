// The states of the documents that have left a view, for streams.

extension LiveView {
  /// The documents whose departure has to be explained after the query has run again.
  var seen: LiveResults { keepsLastStates && wasNotified ? results : LiveResults() }

  /// Notes the states of the documents that the answer leaves out, and of those that are not shown.
  func noteLastStates(_ answer: LiveAnswer) {
    lastStates = answer.left.mapValues { LastState(number: mark.number, time: mark.time, document: $0) }
    guard showsPart else { return }
    // Those that are shown do not leave.
    for entry in window.entries {
      lastStates[entry.name] = LastState(number: mark.number, time: mark.time, document: entry.document)
    }
  }

  /// Adds the states of the documents that have left. A document without a note has not changed.
  func withLastStates(
    _ changes: [LiveDifference.Change], since number: UInt64
  ) -> [LiveDifference.Change] {
    guard keepsLastStates else { return changes }
    return changes.map { change in
      guard let old = change.old, change.new == nil else { return change }
      var change = change
      change.lastState =
        lastStates[old.name] ?? LastState(number: max(number, mark.number), time: nil, document: old.document)
      return change
    }
  }
}

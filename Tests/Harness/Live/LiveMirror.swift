// A listener's copy of a result: a list to which it applies each change that it receives.

import ByteStore
package import Dispatch
package import DocumentStore

package final class LiveMirror: Sendable {
  private struct State {
    var documents: [StoredDocument] = []
    /// The states that the listener received since the last comparison.
    var states: [[StoredDocument]] = []
    var hasReceivedState = false
    var compared = 0
    var failure: String?
    var counts: [LiveCampaign.Kind: Int] = [:]
    var registration: LiveRegistration?
  }

  package let query: StructuredQuery
  private let isSlow: Bool
  private let also: @Sendable () -> Void
  private let state = Locked(State())

  /// Creates a copy for a listener to `query`. The handler calls `also` after each result that it receives.
  package init(
    _ query: StructuredQuery, isSlow: Bool = false, _ also: @escaping @Sendable () -> Void = {}
  ) {
    self.query = query
    self.isSlow = isSlow
    self.also = also
  }

  package func listen(to store: DocumentStore, on queue: DispatchQueue) throws(DocumentStoreError) {
    let registration = try store.listen(to: query, on: queue, handler)
    state.withLock { $0.registration = registration }
  }

  func listen(
    to store: DocumentStore, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) throws(DocumentStoreError) {
    let registration = try store.listen(to: query, enqueue: enqueue, handler: handler)
    state.withLock { $0.registration = registration }
  }

  private var handler: LiveHandler {
    { [self] result in
      if isSlow { for _ in 0..<20 { WorkerThread.yield() } }
      switch result {
      case .success(let snapshot): take(snapshot)
      case .failure(let error): recordFailure("was told \(error)")
      }
      also()
    }
  }

  package func remove() {
    // The registration retains the handler, which retains this object. Removing the registration breaks this
    // cycle.
    let registration = state.withLock { state in
      defer { state.registration = nil }
      return state.registration
    }
    registration?.remove()
  }

  package var counts: [LiveCampaign.Kind: Int] { state.withLock { $0.counts } }

  private func recordFailure(_ text: String) {
    state.withLock { $0.failure = $0.failure ?? text }
  }

  // MARK: States

  private func take(_ snapshot: LiveSnapshot) {
    state.withLock { state in
      if snapshot.isFirst == state.hasReceivedState {
        state.failure = state.failure ?? "first states come once"
      }
      state.hasReceivedState = true
      var rank = 0
      for change in snapshot.changes {
        if let failure = Self.apply(change, &state) { state.failure = state.failure ?? failure }
        let next = [.removed: 0, .added: 1, .modified: 2][change.kind] ?? 3
        if next < rank { state.failure = state.failure ?? "changes in the wrong order" }
        rank = next
      }
      if snapshot.changes.count > 1 { state.counts[.severalChanges, default: 0] += 1 }
      if !snapshot.documents.elementsEqual(state.documents) {
        state.failure =
          state.failure ?? "the changes lead to \(Self.names(state.documents)), and the state is "
          + Self.names(Array(snapshot.documents))
      }
      state.states.append(state.documents)
    }
  }

  private static func apply(_ change: LiveChange, _ state: inout State) -> String? {
    if let index = change.oldIndex {
      guard state.documents.indices.contains(index), state.documents[index].path == change.document.path
      else {
        return "\(change.document.path) was not at \(index) of \(names(state.documents))"
      }
      state.documents.remove(at: index)
    }
    if let index = change.newIndex {
      guard (0...state.documents.count).contains(index) else { return "there is no index \(index)" }
      state.documents.insert(change.document, at: index)
    }
    switch (change.kind, change.oldIndex, change.newIndex) {
    case (.added, nil, _?): state.counts[.added, default: 0] += 1
    case (.removed, _?, nil): state.counts[.removed, default: 0] += 1
    case (.modified, let old?, let new?):
      state.counts[.modified, default: 0] += 1
      if old != new { state.counts[.moved, default: 0] += 1 }
    default: return "a change \(change.kind) from \(change.oldIndex ?? -1) to \(change.newIndex ?? -1)"
    }
    return nil
  }

  /// Compares the states received since the last call with `answers`, the expected results in commit order.
  /// Returns a description of the first difference, or nil.
  package func difference(from answers: [some BidirectionalCollection<StoredDocument>]) -> String? {
    state.withLock { state in
      defer { state.states = [] }
      if let failure = state.failure { return failure }
      guard state.hasReceivedState else { return "it was not notified" }
      var place = 0
      for received in state.states {
        guard let next = answers[place...].firstIndex(where: received.elementsEqual) else {
          let isOld = answers[..<place].contains(where: received.elementsEqual)
          return "it received \(Self.names(received)), which "
            + (isOld ? "is older than what it had received already" : "no commit left")
        }
        place = next
      }
      state.compared += state.states.count
      guard let last = answers.last, !state.documents.elementsEqual(last) else { return nil }
      return "it received \(Self.names(state.documents)) last, and the answer is \(Self.names(Array(last)))"
    }
  }

  /// The number of received states that were compared so far.
  package var comparedStates: Int { state.withLock { $0.compared } }

  private static func names(_ documents: [StoredDocument]) -> String {
    "[" + documents.map { "\($0.path)@\($0.updateTime.microseconds % 1_000_000_000)" }.joined(separator: ", ")
      + "]"
  }
}

// The ends of rounds, in which streams get the states of their queries in one snapshot.
//
// A round takes place under the lock of `LiveQueries`: it applies commits to views, loads views, or adds and
// removes queries. At its end, each view includes the same commits, except the views in `unready`. These are
// loading, or they have loaded an answer that includes commits which the other views do not include yet. The
// threads of those commits will begin another round.

import ByteStore

extension LiveQueries {
  /// Ends a round. Lets the streams with news deliver them, unless one of their views is not ready.
  func endRound(_ state: inout State) {
    noteReadyViews(&state)
    guard !state.waitingStreams.isEmpty else { return }
    let held = heldStreams(state)
    var waiting: [LiveStream] = []
    for stream in state.waitingStreams {
      if held.contains(ObjectIdentifier(stream)) {
        waiting.append(stream)
      } else {
        stream.endRound(at: state.mark)
      }
    }
    state.waitingStreams = waiting
  }

  /// Removes the views from `unready` that include the same commits as all others.
  private func noteReadyViews(_ state: inout State) {
    guard !state.unready.isEmpty else { return }
    for (number, view) in state.unready where !view.isLoading && view.mark.number <= state.mark.number {
      state.mark.add(view.mark)
      state.unready[number] = nil
    }
  }

  /// The streams that show a view which is not ready.
  private func heldStreams(_ state: State) -> Set<ObjectIdentifier> {
    var held: Set<ObjectIdentifier> = []
    for view in state.unready.values {
      for listener in view.listeners {
        if let stream = listener.showingStream { held.insert(ObjectIdentifier(stream)) }
      }
    }
    return held
  }

  /// Notes that a view does not include the same commits as the others, or may not at the end of the round.
  func noteUnready(_ view: LiveView, _ state: inout State) { state.unready[view.number] = view }

  /// Lets a stream deliver the time of the last commit, together with its news.
  func advance(_ stream: LiveStream) {
    // Before the first view is loaded, the time of the last commit is unknown here.
    let source = state.withLock { $0.views.isEmpty || $0.mark.time == nil ? $0.source : nil }
    let last = source?.lastCommit
    state.withLock { state in
      applyCommits(&state)
      if let last, state.views.isEmpty || state.mark.number == last.number { state.mark.advance(to: last) }
      let isNew = stream.state.withLock { stream in
        stream.isAdvanceOffered = true
        defer { stream.awaitsEnd = true }
        return !stream.awaitsEnd
      }
      if isNew { state.waitingStreams.append(stream) }
      endRound(&state)
    }
  }
}

/// A reference that does not keep the queries alive.
struct WeakLiveQueries: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the reference is never assigned after initialization, and Swift's
  // runtime loads a weak reference atomically with respect to the release of its object.
  private(set) weak var queries: LiveQueries?

  init(_ queries: LiveQueries) { self.queries = queries }
}

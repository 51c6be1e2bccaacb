// Runs the queries of views: for their first listeners, and again when a view cannot follow the commits.

import ByteStore

extension LiveQueries {
  /// The number of attempts to run the query while commits continue. If too many commits arrive during every
  /// attempt, the query runs while commits wait.
  private static let loadsMax = 3

  func load(_ view: LiveView) throws(DocumentStoreError) {
    for number in 1...Self.loadsMax {
      let (query, seen, source, backlog) = state.withLock { state in
        (view.loading, view.seen, state.source, view.backlogGeneration)
      }
      guard let source else { return }
      pauses?.pause(at: .listening)
      let answer = try source.answer(query, seen: seen)
      pauses?.pause(at: .answered)
      // Do the work that is proportional to the size of the result before the lock is taken.
      let window = view.window(answer.documents)
      let isDone = try state.withLock { state throws(DocumentStoreError) in
        // The view may have lost its last listener. Another thread may also be loading the view, and may have
        // finished or started again.
        guard state.views[view.query.canonicalID] === view, view.isLoading, view.backlogGeneration == backlog
        else { return true }
        if !take(window, answer, view: view, state: &state, source: source) {
          guard number == Self.loadsMax else { return false }
          // No commit can happen while the lock is held, and the indexes exist by now.
          try loadSynchronously(view, &state, source: source)
        }
        if let mark = publications.markIfQueueIsEmpty { state.mark.advance(to: mark) }
        report(view, &state)
        endRound(&state)
        return true
      }
      if isDone { return }
    }
  }

  /// Loads a view in the background. A final error is reported to the view's listeners, because no caller can
  /// receive it.
  private func loadInBackground(_ id: String) {
    let loading = state.withLock { state in state.views[id].flatMap { $0.isLoading ? $0 : nil } }
    guard let view = loading else { return }
    do throws(DocumentStoreError) {
      try load(view)
    } catch {
      state.withLock { state in
        // Another thread may have loaded the view meanwhile.
        guard state.views[id] === view, view.isLoading else { return }
        didFail(view, error, state: &state)
        endRound(&state)
      }
    }
  }

  /// Ends the listening to a query that failed, unless `runAgain` can repeat it.
  func didFail(_ view: LiveView, _ error: DocumentStoreError, state: inout State) {
    guard repeatsFailedReads, error.isTransient else { return fail(view, error, state: &state) }
    view.awaitRun()
    noteUnready(view, &state)
  }

  private func fail(_ view: LiveView, _ error: DocumentStoreError, state: inout State) {
    for listener in view.listeners { note(listener.fail(error), &state) }
    drop(view, &state)
  }

  func loadSynchronously(
    _ view: LiveView, _ state: inout State, source: any LiveSource
  ) throws(DocumentStoreError) {
    noteUnready(view, &state)
    guard let answer = try source.answerWithoutWaiting(view.loading, seen: view.seen) else {
      view.restartLoading()
      let id = view.query.canonicalID
      return source.runInBackground { [weak self] in self?.loadInBackground(id) }
    }
    let isLoaded = take(view.window(answer.documents), answer, view: view, state: &state, source: source)
    precondition(isLoaded, "nothing happens meanwhile")
    guard answer.lacksIndex, !view.awaitsIndex else { return }
    view.awaitsIndex = true
    let id = view.query.canonicalID
    source.makeIndexes(for: view.loading) { [weak self] in
      self?.state.withLock { $0.views[id]?.awaitsIndex = false }
    }
  }

  private func take(
    _ window: LiveResults, _ answer: LiveAnswer, view: LiveView, state: inout State,
    source: any LiveSource
  ) -> Bool {
    if view.limit != nil, !answer.lacksIndex, view.pins != answer.indexes {
      source.pin(answer.indexes)
      source.unpin(view.pins)
      view.pins = answer.indexes
    }
    publications.noteSnapshot(through: answer.position)
    let isLoaded = view.load(window, answer)
    reregister(view, &state)
    return isLoaded
  }

  func reregister(_ view: LiveView, _ state: inout State) {
    guard view.needsReregistration else { return }
    state.matcher.move(view)
    view.noteRegistered()
  }
}

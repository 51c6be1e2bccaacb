// Applies published commits to the views, and runs outdated queries again.

import ByteStore
import Synchronization

extension LiveQueries {
  // MARK: Following

  func observe() { state.withLock { _ = applyCommits(&$0) } }

  /// The maximum number of passes of `afterCommits`. A further pass is only needed if another commit was
  /// published during a reload. If that happens in every pass, `body` runs although the states differ.
  static let passesMax = 10

  /// Applies the published commits, and calls `body` with the number of offers so far. `body` runs under the
  /// lock, so a block that it puts on a queue comes between the states of two commits.
  func afterCommits(_ body: (_ offerCount: UInt64) -> Void) {
    state.withLock { state in
      // A reloaded view may include commits that are still queued. The other views receive them in the next
      // pass.
      for _ in 0..<Self.passesMax {
        guard applyCommits(&state) else { break }
      }
      body(offerCount)
    }
  }

  /// The storage of the queue is reused only if it held at most this number of commits.
  private static let queueStorageMax = 64

  /// Takes the published commits from the queue, applies them to the views, and offers the new states to the
  /// listeners. Returns true if a view was reloaded.
  @discardableResult
  func applyCommits(_ state: inout State) -> Bool {
    var commits: [Publication] = []
    swap(&commits, &state.queueStorage)
    let last = publications.take(&commits)
    defer { endRound(&state) }
    defer {
      commits.removeAll(keepingCapacity: commits.count <= Self.queueStorageMax)
      swap(&commits, &state.queueStorage)
    }
    let timeBefore = state.mark.time
    state.numberBefore = state.mark.number
    if let last { state.mark.advance(to: last) }
    guard !commits.isEmpty else { return false }
    var changedViews: [ObjectIdentifier: LiveView] = [:]
    var visits = 0
    defer { state.visits += visits }
    for commit in commits {
      for place in commit.effects.changes.indices {
        let views = state.matcher.views(concernedBy: commit.effects.changes[place])
        guard !views.isEmpty else { continue }
        visits += views.count
        let change = commit.effects.published(place)
        for view in views {
          view.apply(change, number: commit.number, time: commit.effects.time)
          changedViews[ObjectIdentifier(view)] = view
        }
        for view in views { reregister(view, &state) }
      }
    }
    guard !changedViews.isEmpty else { return false }
    var hasReloaded = false
    // Sorted, so that a test with the same seed repeats the same run.
    for view in changedViews.values.sorted(by: { $0.number < $1.number }) {
      guard !view.isLoading else { continue }
      if view.needsLoading {
        reload(view, shownAt: timeBefore, state: &state)
        hasReloaded = true
      }
      report(view, &state)
    }
    return hasReloaded
  }

  // MARK: Running again

  /// Marks all queries as outdated, because the store has changed by more than queued commits. Listeners keep
  /// the state that they have until `runAgain`.
  func invalidate() {
    state.withLock { state in
      let last = publications.takeReload()
      for view in state.views.values {
        if !view.isLoading { view.timeShown = state.mark.time }
        view.awaitRun()
        noteUnready(view, &state)
      }
      state.mark.advance(to: last)
    }
  }

  /// Applies the published commits, and runs the queries that are outdated or whose last run could not read
  /// the store. Throws the first transient error. Listeners of such a query keep the state that they have,
  /// and the next call runs the query again. Any other error ends the listening.
  func runAgain() throws(DocumentStoreError) {
    let failure = state.withLock { state -> DocumentStoreError? in
      applyCommits(&state)
      guard let source = state.source else { return nil }
      defer { endRound(&state) }
      var failure: DocumentStoreError?
      for view in state.views.values.filter(\.awaitsRun).sorted(by: { $0.number < $1.number }) {
        // The answer includes the commits of the backlog.
        view.restartLoading()
        do throws(DocumentStoreError) {
          try loadSynchronously(view, &state, source: source)
          report(view, &state)
        } catch {
          didFail(view, error, state: &state)
          if view.awaitsRun { failure = failure ?? error }
        }
      }
      return failure
    }
    if let failure { throw failure }
  }

  /// Refills a view whose limit needs more documents. The answer may include commits that have not been taken
  /// from the queue yet. The view ignores these commits when they are taken.
  private func reload(_ view: LiveView, shownAt time: StoredTimestamp?, state: inout State) {
    guard let source = state.source else { return }
    view.timeShown = time
    do throws(DocumentStoreError) {
      try loadSynchronously(view, &state, source: source)
    } catch {
      didFail(view, error, state: &state)
    }
  }

  /// Waits until no thread is applying commits to the views.
  func wait() { state.withLock { _ in } }

  /// Offers the view's state to its listeners if it has changed.
  func report(_ view: LiveView, _ state: inout State) {
    guard !view.isLoading else { return }
    let hadNotified = view.wasNotified
    let changes = view.takeChanges(since: state.numberBefore)
    let listeners = changes.isEmpty && hadNotified ? view.owed : view.listeners
    view.owed = []
    guard !listeners.isEmpty else { return }
    offers.wrappingAdd(1, ordering: .acquiringAndReleasing)
    let time = state.mark.time
    for listener in listeners { note(listener.offer(view.results, changes, time: time), &state) }
  }
}

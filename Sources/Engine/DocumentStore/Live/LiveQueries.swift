// All queries with listeners, and how their results are updated after each commit.
//
// 1. Take the commits that were published since the last time (Publications). This runs in the committing
//    thread.
// 2. Find the views that each change may concern (LiveMatcher).
// 3. Apply the change to each of these views (LiveView). If a limit needs more documents, run the query
//    again.
// 4. Offer the new state to the listeners of the changed views (LiveListener).
//
// In step 3, a query only uses existing indexes, because an index build would delay other commits. If the
// document names are missing, as after damage, the query runs in another thread, and its listeners are
// notified later.
//
// The commit is acknowledged after step 4, so by then the states are on the listeners' queues. The lock is
// held during all steps. Handlers never run under the lock, so they may add and remove listeners and commit.

import ByteStore
import Synchronization

final class LiveQueries: CommitObserver {
  struct State {
    weak var source: (any LiveSource)?
    var views: [String: LiveView] = [:]
    var viewsCreated = 0
    var matcher = LiveMatcher()
    /// The last commit that is included in every view, except in views that are loading.
    var mark = CommitMark()
    /// The number of the last commit that was included in every view before the current round.
    var numberBefore: UInt64 = 0
    /// The views that may not include the same commits as the others, by number.
    var unready: [Int: LiveView] = [:]
    /// The streams that wait for the end of a round.
    var waitingStreams: [LiveStream] = []
    /// Number of times a change was applied to a view.
    var visits = 0
    /// The number of listeners of all views.
    var listenerCount = 0
    /// An empty array whose storage is reused when the next commits are taken.
    var queueStorage: [Publication] = []
  }

  /// The storage is reused only if it held at most this number of commits.
  private static let queueStorageMax = 64

  private let publications: Publications
  /// Whether `runAgain` repeats queries whose reads failed. Otherwise, a failed read ends the listening.
  private let repeatsFailedReads: Bool
  let state = Locked(State())
  /// The number of times that a view offered a state to its listeners. Incremented under the lock before the
  /// offer, and read without the lock.
  private let offers = Atomic<UInt64>(0)

  private let pauses: (any StorePauses)?
  private let recorder: Recorder?

  init(
    _ publications: Publications, repeatsFailedReads: Bool = false, pauses: (any StorePauses)? = nil,
    recorder: Recorder? = nil
  ) {
    self.publications = publications
    self.repeatsFailedReads = repeatsFailedReads
    self.pauses = pauses
    self.recorder = recorder
  }

  func setSource(_ source: any LiveSource) { state.withLock { $0.source = source } }

  /// Number of queries with listeners.
  var viewCount: Int { state.withLock { $0.views.count } }

  /// The number of listeners of all queries.
  var listenerCount: Int { state.withLock { $0.listenerCount } }

  /// The number of times the matcher returned a view for a change, whether or not the change affected the
  /// view.
  var visitCount: Int { state.withLock { $0.visits } }

  /// The number of times that a view offered a state to its listeners.
  var offerCount: UInt64 { offers.load(ordering: .acquiring) }

  // MARK: Listening

  func isListening(to query: StructuredQuery) -> Bool {
    let id = query.canonicalID
    return state.withLock { $0.views[id] != nil }
  }

  func listen(
    _ query: StructuredQuery, _ listener: LiveListener
  ) throws(DocumentStoreError) -> LiveRegistration {
    let id = try add(listener, to: query)
    return LiveRegistration(listener, id, queries: self)
  }

  /// Adds a listener, and loads the view if the listener is its first one. Returns the view's id.
  @discardableResult
  func add(
    _ listener: any LiveAudience, to query: StructuredQuery
  ) throws(DocumentStoreError) -> String {
    let id = query.canonicalID
    if let view = join(listener, to: query, id) {
      do throws(DocumentStoreError) {
        try load(view)
      } catch {
        state.withLock { state in
          for other in view.listeners where other !== listener { note(other.fail(error), &state) }
          drop(view, &state)
          endRound(&state)
        }
        throw error
      }
    }
    sendCount(.listenerAdded, [.init("collection", .text(query.scope.collectionID))])
    return id
  }

  /// Reports a change of the number of listeners.
  private func sendCount(_ name: InstrumentName, _ fields: [InstrumentEvent.Field] = []) {
    guard let recorder, recorder.isActive else { return }
    let count = listenerCount
    recorder.emit(name, .debug, fields: fields + [.init("listeners", .count(count))])
    recorder.measures?.gauge(.listeners, is: count)
  }

  /// Adds a listener to the view of the query. Returns the view if it is new.
  private func join(_ listener: any LiveAudience, to query: StructuredQuery, _ id: String) -> LiveView? {
    state.withLock { state in
      state.listenerCount += 1
      if let view = state.views[id] {
        join(listener, to: view, &state)
        endRound(&state)
        return nil
      }
      state.viewsCreated += 1
      let view = LiveView(query, number: state.viewsCreated)
      view.listeners.append(listener)
      view.keepsFates = listener.stream != nil
      state.views[id] = view
      state.matcher.insert(view)
      noteUnready(view, &state)
      // Observe commits before running the query, because all commits that the query does not see must arrive
      // here.
      publications.observe(view.collectionID, number: view.number, observer: self)
      return view
    }
  }

  private func join(_ listener: any LiveAudience, to view: LiveView, _ state: inout State) {
    view.listeners.append(listener)
    if listener.stream != nil { view.keepsFates = true }
    if let mark = publications.markIfQueueIsEmpty { state.mark.advance(to: mark) }
    guard view.wasNotified else { return }
    // The other queries of a stream include later commits than a view that is loading shows.
    guard listener.stream == nil || !view.isLoading else { return view.owed.append(listener) }
    let time = view.isLoading ? view.timeShown : state.mark.time
    note(listener.offer(view.results, [], time: time), &state)
  }

  /// Notes that a stream waits for the end of the round.
  private func note(_ stream: LiveStream?, _ state: inout State) {
    if let stream { state.waitingStreams.append(stream) }
  }

  /// The number of attempts to run the query while commits continue. If too many commits arrive during every
  /// attempt, the query runs while commits wait.
  private static let loadsMax = 3

  private func load(_ view: LiveView) throws(DocumentStoreError) {
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
  private func didFail(_ view: LiveView, _ error: DocumentStoreError, state: inout State) {
    guard repeatsFailedReads, error.isTransient else { return fail(view, error, state: &state) }
    view.awaitRun()
    noteUnready(view, &state)
  }

  private func fail(_ view: LiveView, _ error: DocumentStoreError, state: inout State) {
    for listener in view.listeners { note(listener.fail(error), &state) }
    drop(view, &state)
  }

  private func loadSynchronously(
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
    let isLoaded = view.load(window, answer)
    reregister(view, &state)
    return isLoaded
  }

  private func reregister(_ view: LiveView, _ state: inout State) {
    guard view.needsReregistration else { return }
    state.matcher.move(view)
    view.noteRegistered()
  }

  func remove(_ listener: any LiveAudience, _ id: String) {
    let isRemoved = state.withLock { state in
      guard let view = state.views[id], let place = view.listeners.firstIndex(where: { $0 === listener })
      else {
        return false
      }
      view.listeners.remove(at: place)
      view.owed.removeAll { $0 === listener }
      state.listenerCount -= 1
      if view.listeners.isEmpty { drop(view, &state) }
      endRound(&state)
      return true
    }
    if isRemoved { sendCount(.listenerRemoved) }
  }

  private func drop(_ view: LiveView, _ state: inout State) {
    let id = view.query.canonicalID
    guard state.views[id] === view else { return }
    state.views[id] = nil
    state.unready[view.number] = nil
    state.matcher.remove(view)
    state.listenerCount -= view.listeners.count
    view.listeners = []
    view.owed = []
    state.source?.unpin(view.pins)
    view.pins = []
    view.empty()
    publications.stopObserving(number: view.number)
  }

  /// Removes all listeners.
  func end() {
    state.withLock { state in
      for view in state.views.values {
        for listener in view.listeners { listener.remove() }
        view.listeners = []
        view.owed = []
        // Break the reference cycle.
        view.place = nil
      }
      state.views = [:]
      state.unready = [:]
      state.waitingStreams = []
      state.listenerCount = 0
      state.matcher = LiveMatcher()
      publications.stopObservingAll()
    }
  }

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
          view.apply(change, number: commit.number)
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
  private func report(_ view: LiveView, _ state: inout State) {
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

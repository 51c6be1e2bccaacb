// All queries with listeners, and how their results are updated after each commit.
//
// 1. Take the commits that were published since the last time (Publications). This runs in the committing
//    thread.
// 2. Find the views that each change may concern (LiveMatcher).
// 3. Apply the change to each of these views (LiveView). If a limit needs more documents, run the query
//    again.
// 4. Offer the new state to the listeners of the changed views (LiveListener), and let streams deliver the
//    states of all their queries (LiveStream).
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

  let publications: Publications
  /// Whether `runAgain` repeats queries whose reads failed. Otherwise, a failed read ends the listening.
  let repeatsFailedReads: Bool
  let state = Locked(State())
  /// The number of times that a view offered a state to its listeners. Incremented under the lock before the
  /// offer, and read without the lock.
  let offers = Atomic<UInt64>(0)

  let pauses: (any StorePauses)?
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
    if let view = join(listener, to: query, id: id) {
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
  private func join(_ listener: any LiveAudience, to query: StructuredQuery, id: String) -> LiveView? {
    state.withLock { state in
      state.listenerCount += 1
      if let view = state.views[id] {
        join(listener, to: view, state: &state)
        endRound(&state)
        return nil
      }
      state.viewsCreated += 1
      let view = LiveView(query, number: state.viewsCreated)
      view.listeners.append(listener)
      view.keepsLastStates = listener.stream != nil
      state.views[id] = view
      state.matcher.insert(view)
      noteUnready(view, &state)
      // Observe commits before running the query, because all commits that the query does not see must arrive
      // here.
      publications.observe(view.collectionID, number: view.number, observer: self)
      return view
    }
  }

  private func join(_ listener: any LiveAudience, to view: LiveView, state: inout State) {
    view.listeners.append(listener)
    if listener.stream != nil { view.keepsLastStates = true }
    if let mark = publications.markIfQueueIsEmpty { state.mark.advance(to: mark) }
    guard view.wasNotified else { return }
    // The other queries of a stream include later commits than a view that is loading shows.
    guard listener.stream == nil || !view.isLoading else { return view.owed.append(listener) }
    let time = view.isLoading ? view.timeShown : state.mark.time
    note(listener.offer(view.results, [], time: time), &state)
  }

  /// Notes that a stream waits for the end of the round.
  func note(_ stream: LiveStream?, _ state: inout State) {
    if let stream { state.waitingStreams.append(stream) }
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

  func drop(_ view: LiveView, _ state: inout State) {
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
}

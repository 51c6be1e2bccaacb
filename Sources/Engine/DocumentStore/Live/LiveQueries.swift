// All queries that someone listens to, and how they follow the commits.
//
//   1. take     what was committed since the last time and may concern someone (LiveSieve), by the thread that has just
//               committed
//   2. find     the views that each change may concern (LiveMatcher)
//   3. apply    the change to each of them (LiveView); run the query again where a limit needs more documents, from
//               what indexes there are: others wait, so that none is made then. If the names of documents are not known
//               either, as after damage, it is run elsewhere, and its listeners are told later
//   4. offer    the new state to the listeners of the views that are different (LiveListener)
//
// A commit is acknowledged after this, so that the states of listeners are on their queues before. The lock is held
// meanwhile, and no handler runs under it: handlers may listen, remove, and commit.

import ByteStore
import Dispatch

struct LiveAnswer {
  var documents: [StoredDocument]
  /// How many commits since the store was opened it has.
  var position: UInt64
  /// Where it came from.
  var indexes: [IndexDefinition] = []
  /// With another index it would come sooner.
  var lacksIndex = false
}

/// Where live queries get answers from.
protocol LiveSource: AnyObject, Sendable {
  /// The answer of a query. What index it needs is made first.
  func answer(_ query: StructuredQuery) throws(DocumentStoreError) -> LiveAnswer

  /// The same with what indexes there are, for a thread that every commit waits for. Nil if it had to wait for commits
  /// itself.
  func answerAtOnce(_ query: StructuredQuery) throws(DocumentStoreError) -> LiveAnswer?

  /// Runs it in a thread that nobody waits for.
  func later(_ body: @escaping @Sendable () -> Void)

  /// Indexes that stay as long as others can go, until they are unpinned.
  func pin(_ indexes: [IndexDefinition])
  func unpin(_ indexes: [IndexDefinition])

  /// Has what indexes a query needs made, and `body` called then, while commits go on.
  func makeIndexes(for query: StructuredQuery, then body: @escaping @Sendable () -> Void)
}

final class LiveQueries: CommitFollower {
  private struct State {
    weak var source: (any LiveSource)?
    var views: [String: LiveView] = [:]
    var viewsSoFar = 0
    var matcher = LiveMatcher()
    /// Of the last commit that all views know but those that are loading.
    var time: StoredTimestamp?
    /// How often a view was looked at for a change.
    var visits = 0
    /// Room for the next commits that are taken.
    var room: [Publication] = []
  }

  /// Of so many commits the room is kept.
  private static let roomMax = 64

  private let publications: Publications
  private let state = Locked(State())

  private let pauses: (any StorePauses)?

  init(_ publications: Publications, pauses: (any StorePauses)? = nil) {
    self.publications = publications
    self.pauses = pauses
  }

  func setSource(_ source: any LiveSource) { state.withLock { $0.source = source } }

  /// How many queries are listened to.
  var viewCount: Int { state.withLock { $0.views.count } }

  /// How often changes led to a view, concerned or not.
  var visitCount: Int { state.withLock { $0.visits } }

  // MARK: Listening

  func isListening(to query: StructuredQuery) -> Bool {
    let id = query.canonicalID
    return state.withLock { $0.views[id] != nil }
  }

  func listen(
    _ query: StructuredQuery, _ listener: LiveListener
  ) throws(DocumentStoreError) -> LiveRegistration {
    let id = query.canonicalID
    let (view, isNew) = state.withLock { state in
      if let view = state.views[id] {
        view.listeners.append(listener)
        state.time = publications.timeIfAllIsTaken ?? state.time
        if view.isTold { listener.offer(view.results, [], view.isLoading ? view.timeShown : state.time) }
        return (view, false)
      }
      state.viewsSoFar += 1
      let view = LiveView(query, number: state.viewsSoFar)
      view.listeners.append(listener)
      state.views[id] = view
      state.matcher.insert(view)
      // Before the query is run: what is committed after that has to come here.
      publications.follow(view.interest, number: view.number, self)
      return (view, true)
    }
    if isNew {
      do throws(DocumentStoreError) {
        try load(view)
      } catch {
        state.withLock { state in
          for other in view.listeners where other !== listener { other.fail(error) }
          drop(view, &state)
        }
        throw error
      }
    }
    return LiveRegistration(listener, id, self)
  }

  /// So often a query is run while commits go on. If too much has happened each time, it is run while they wait.
  private static let loadsMax = 3

  private func load(_ view: LiveView) throws(DocumentStoreError) {
    for number in 1...Self.loadsMax {
      let (query, source, backlog) = state.withLock { (view.loading, $0.source, view.backlogsSoFar) }
      guard let source else { return }
      pauses?.pause(at: .listening)
      let answer = try source.answer(query)
      pauses?.pause(at: .answered)
      // What takes longer the more documents there are comes before the lock.
      let window = view.window(answer.documents)
      let isDone = try state.withLock { state throws(DocumentStoreError) in
        // Its last listener may be gone; or another thread loads it as well, and has begun anew or is done.
        guard state.views[view.query.canonicalID] === view, view.isLoading, view.backlogsSoFar == backlog
        else { return true }
        if !take(window, answer, view, &state, source) {
          guard number == Self.loadsMax else { return false }
          // Nothing happens while the lock is held. The indexes are there by now.
          try takeAtOnce(view, &state, source)
        }
        state.time = publications.timeIfAllIsTaken ?? state.time
        tell(view, state.time)
        return true
      }
      if isDone { return }
    }
  }

  /// For listeners that nobody can be thrown an error for.
  private func loadLater(_ id: String) {
    let loading = state.withLock { state in state.views[id].flatMap { $0.isLoading ? $0 : nil } }
    guard let view = loading else { return }
    do throws(DocumentStoreError) {
      try load(view)
    } catch {
      state.withLock { fail(view, error, &$0) }
    }
  }

  private func fail(_ view: LiveView, _ error: DocumentStoreError, _ state: inout State) {
    for listener in view.listeners { listener.fail(error) }
    drop(view, &state)
  }

  private func takeAtOnce(
    _ view: LiveView, _ state: inout State, _ source: any LiveSource
  ) throws(DocumentStoreError) {
    guard let answer = try source.answerAtOnce(view.loading) else {
      view.loadAgain()
      let id = view.query.canonicalID
      return source.later { [weak self] in self?.loadLater(id) }
    }
    let isTaken = take(view.window(answer.documents), answer, view, &state, source)
    precondition(isTaken, "nothing happens meanwhile")
    guard answer.lacksIndex, !view.awaitsIndex else { return }
    view.awaitsIndex = true
    let id = view.query.canonicalID
    source.makeIndexes(for: view.loading) { [weak self] in
      self?.state.withLock { $0.views[id]?.awaitsIndex = false }
    }
  }

  private func take(
    _ window: LiveResults, _ answer: LiveAnswer, _ view: LiveView, _ state: inout State,
    _ source: any LiveSource
  ) -> Bool {
    if view.limit != nil, !answer.lacksIndex, view.pins != answer.indexes {
      source.pin(answer.indexes)
      source.unpin(view.pins)
      view.pins = answer.indexes
    }
    let isTaken = view.load(window, of: answer.documents.count, at: answer.position)
    findAgain(view, &state)
    return isTaken
  }

  private func findAgain(_ view: LiveView, _ state: inout State) {
    guard view.hasMoved else { return }
    state.matcher.move(view)
    view.settleDown()
  }

  fileprivate func remove(_ listener: LiveListener, _ id: String) {
    state.withLock { state in
      guard let view = state.views[id] else { return }
      view.listeners.removeAll { $0 === listener }
      if view.listeners.isEmpty { drop(view, &state) }
    }
  }

  private func drop(_ view: LiveView, _ state: inout State) {
    let id = view.query.canonicalID
    guard state.views[id] === view else { return }
    state.views[id] = nil
    state.matcher.remove(view)
    view.listeners = []
    state.source?.unpin(view.pins)
    view.pins = []
    view.empty()
    publications.unfollow(number: view.number)
  }

  /// Listeners are told nothing more.
  func end() {
    state.withLock { state in
      for view in state.views.values {
        for listener in view.listeners { listener.remove() }
        view.listeners = []
        // They hold each other.
        view.place = nil
      }
      state.views = [:]
      state.matcher = LiveMatcher()
      publications.unfollowAll()
    }
  }

  // MARK: Following

  func follow() {
    state.withLock { state in
      var commits: [Publication] = []
      swap(&commits, &state.room)
      let time = publications.take(&commits)
      defer {
        commits.removeAll(keepingCapacity: commits.count <= Self.roomMax)
        swap(&commits, &state.room)
      }
      guard !commits.isEmpty else { return }
      let timeBefore = state.time
      state.time = time
      var touched: [ObjectIdentifier: LiveView] = [:]
      var visits = 0
      defer { state.visits += visits }
      for commit in commits {
        for place in commit.places {
          let views = state.matcher.views(concernedBy: commit.effects.changes[place])
          guard !views.isEmpty else { continue }
          visits += views.count
          let change = commit.effects.published(place)
          for view in views {
            view.apply(change, number: commit.number)
            touched[ObjectIdentifier(view)] = view
          }
          for view in views { findAgain(view, &state) }
        }
      }
      guard !touched.isEmpty else { return }
      // In an order that a seed repeats.
      for view in touched.values.sorted(by: { $0.number < $1.number }) {
        guard !view.isLoading else { continue }
        if view.needsLoading { reload(view, shownAt: timeBefore, &state) }
        tell(view, state.time)
      }
    }
  }

  /// A limit needs more documents than the view has. The answer may be newer than what was taken; the view passes
  /// over those commits when they come.
  private func reload(_ view: LiveView, shownAt time: StoredTimestamp?, _ state: inout State) {
    guard let source = state.source else { return }
    view.timeShown = time
    do throws(DocumentStoreError) {
      try takeAtOnce(view, &state, source)
    } catch {
      fail(view, error, &state)
    }
  }

  /// Until nobody follows a commit.
  func wait() { state.withLock { _ in } }

  private func tell(_ view: LiveView, _ time: StoredTimestamp?) {
    guard !view.isLoading else { return }
    let wasTold = view.isTold
    let changes = view.takeChanges()
    guard !changes.isEmpty || !wasTold else { return }
    for listener in view.listeners { listener.offer(view.results, changes, time) }
  }
}

/// The end of listening is up to this: without a call of `remove`, it goes on until the store is closed.
public final class LiveRegistration: Sendable {
  private let listener: LiveListener
  private let id: String
  private let queries: Weak

  private struct Weak: @unchecked Sendable {
    // Only read after it was made.
    weak var queries: LiveQueries?
  }

  fileprivate init(_ listener: LiveListener, _ id: String, _ queries: LiveQueries) {
    self.listener = listener
    self.id = id
    self.queries = Weak(queries: queries)
  }

  /// After this returns no handler of the listener is decided on; one that runs may end. Further calls do nothing.
  ///
  /// One that is just about to run in another thread is let begin: while one runs there, this waits for its end, though
  /// for some milliseconds only, since it may itself wait for the caller. Where that thread is held up for longer, the
  /// handler may still start. In the handler it does not wait.
  public func remove() {
    listener.remove()
    queries.queries?.remove(listener, id)
    listener.letBegin()
  }
}

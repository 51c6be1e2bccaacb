// All queries that someone listens to, and how they follow the commits.
//
//   1. take     what was committed since the last time, by the thread that has just committed
//   2. find     the views that each change may concern (LiveMatcher)
//   3. apply    the change to each of them (LiveView); run the query again where a limit needs more documents
//   4. offer    the new state to the listeners of the views that are different (LiveListener)
//
// A commit is acknowledged after this, so that the states of listeners are on their queues before. The lock is held
// meanwhile, and no handler runs under it: handlers may listen, remove, and commit.

import ByteStore
import Dispatch

/// Where live queries get answers from.
protocol LiveSource: AnyObject, Sendable {
  /// The answer of a query, and how many commits since the store was opened it has.
  func answer(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], position: UInt64)
}

final class LiveQueries: CommitFollower {
  private struct State {
    weak var source: (any LiveSource)?
    var views: [String: LiveView] = [:]
    var matcher = LiveMatcher()
    /// Of the last commit that was taken.
    var time: StoredTimestamp?
  }

  private let publications: Publications
  private let state = Locked(State())

  init(_ publications: Publications) { self.publications = publications }

  func setSource(_ source: any LiveSource) { state.withLock { $0.source = source } }

  /// How many queries are listened to.
  var viewCount: Int { state.withLock { $0.views.count } }

  // MARK: Listening

  func listen(
    _ query: StructuredQuery, _ listener: LiveListener
  ) throws(DocumentStoreError) -> LiveRegistration {
    let id = query.canonicalID
    let (view, isNew) = state.withLock { state in
      if let view = state.views[id] {
        view.listeners.append(listener)
        if !view.isLoading { listener.offer(view.results, [], state.time) }
        return (view, false)
      }
      let view = LiveView(query)
      view.listeners.append(listener)
      state.views[id] = view
      state.matcher.insert(view)
      // Before the query is run: what is committed after that has to come here.
      if state.views.count == 1 { publications.setFollower(self) }
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

  private func load(_ view: LiveView) throws(DocumentStoreError) {
    let (query, source) = state.withLock { (view.loading, $0.source) }
    guard let source else { return }
    while true {
      let (documents, position) = try source.answer(query)
      let isLoaded = state.withLock { state in
        // Its last listener may be gone.
        guard state.views[view.query.canonicalID] === view else { return true }
        guard view.load(documents, at: position) else { return false }
        tell(view, state.time)
        return true
      }
      if isLoaded { return }
    }
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
    if state.views.isEmpty { publications.setFollower(nil) }
  }

  /// Listeners are told nothing more.
  func end() {
    state.withLock { state in
      for view in state.views.values {
        for listener in view.listeners { listener.remove() }
        view.listeners = []
      }
      state.views = [:]
      state.matcher = LiveMatcher()
      publications.setFollower(nil)
    }
  }

  // MARK: Following

  func follow() {
    state.withLock { state in
      let (commits, position) = publications.take()
      guard let last = commits.last else { return }
      state.time = last.time
      var touched: [ObjectIdentifier: LiveView] = [:]
      var number = position - UInt64(commits.count)
      for commit in commits {
        number += 1
        for change in commit.changes {
          state.matcher.forEachView(concernedBy: change) { view in
            view.apply(change, number: number)
            touched[ObjectIdentifier(view)] = view
          }
        }
      }
      for view in touched.values {
        guard !view.isLoading else { continue }
        if view.needsLoading { reload(view, &state) }
        tell(view, state.time)
      }
    }
  }

  /// A limit needs more documents than the view has. The answer may be newer than what was taken; the view passes
  /// over those commits when they come.
  private func reload(_ view: LiveView, _ state: inout State) {
    guard let source = state.source else { return }
    do throws(DocumentStoreError) {
      let (documents, position) = try source.answer(view.loading)
      _ = view.load(documents, at: position)
    } catch {
      for listener in view.listeners { listener.fail(error) }
      drop(view, &state)
    }
  }

  /// Until nobody follows a commit.
  func wait() { state.withLock { _ in } }

  private func tell(_ view: LiveView, _ time: StoredTimestamp?) {
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

  /// After this returns no handler of the listener starts; one that runs may end. Further calls do nothing.
  public func remove() {
    listener.remove()
    queries.queries?.remove(listener, id)
  }
}

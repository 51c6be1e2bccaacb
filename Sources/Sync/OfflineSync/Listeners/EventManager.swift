// The registry of listeners: which query each one listens to, and which snapshots it receives.

internal import DocumentStore

struct EventManager {
  /// The action that the engine has to take after a listener was added or removed.
  enum Request {
    case none
    /// Create a view of the query, and watch it at the remote if `watchesRemote` is set.
    case listen(watchesRemote: Bool)
    /// The view exists; start watching it at the remote.
    case watchRemote
    /// Other listeners remain.
    case keep
    /// Drop the view, because no listener needs it any more.
    case unlisten
    /// Keep the view, but stop watching it at the remote.
    case stopWatchingRemote
  }

  private struct Query {
    let query: StructuredQuery
    var listeners: [QueryListener] = []
    var last: ViewSnapshot?

    var watchesRemote: Bool { listeners.contains { !$0.rules.isCacheOnly } }
  }

  /// A snapshot to deliver to a listener.
  struct PendingDelivery {
    var id: ListenerID
    var snapshot: ViewSnapshot
  }

  private var queries: [String: Query] = [:]
  private var queryTexts: [ListenerID: String] = [:]
  private(set) var online = OnlineState.unknown

  func query(of id: ListenerID) -> StructuredQuery? { queryTexts[id].flatMap { queries[$0]?.query } }

  /// Returns the latest snapshot of a listener's query, delivered or not, in the form of a first snapshot.
  func last(of id: ListenerID) -> ViewSnapshot? { queryTexts[id].flatMap { queries[$0]?.last?.asFirst } }

  /// Whether a query has a listener that is not limited to the cache.
  func watchesRemote(_ text: String) -> Bool { queries[text]?.watchesRemote ?? false }

  /// Returns the listeners of a query, except those that are limited to the cache.
  func remoteListeners(_ text: String) -> [ListenerID] {
    queries[text]?.listeners.filter { !$0.rules.isCacheOnly }.map(\.id) ?? []
  }

  mutating func add(
    _ id: ListenerID, to query: StructuredQuery, rules: ListenRules
  ) -> (request: Request, deliveries: [PendingDelivery]) {
    let text = query.canonicalID
    var known = queries[text] ?? Query(query: query)
    let request: Request =
      known.listeners.isEmpty
      ? .listen(watchesRemote: !rules.isCacheOnly)
      : !known.watchesRemote && !rules.isCacheOnly ? .watchRemote : .none
    var listener = QueryListener(id, rules)
    var deliveries: [PendingDelivery] = []
    if let snapshot = listener.take(online) { deliveries.append(PendingDelivery(id: id, snapshot: snapshot)) }
    if let last = known.last, let snapshot = listener.take(last) {
      deliveries.append(PendingDelivery(id: id, snapshot: snapshot))
    }
    known.listeners.append(listener)
    queries[text] = known
    queryTexts[id] = text
    return (request, deliveries)
  }

  mutating func remove(_ id: ListenerID) -> (request: Request, query: StructuredQuery?) {
    guard let text = queryTexts.removeValue(forKey: id), var known = queries[text] else {
      return (.none, nil)
    }
    let watchedRemote = known.watchesRemote
    known.listeners.removeAll { $0.id == id }
    queries[text] = known.listeners.isEmpty ? nil : known
    if known.listeners.isEmpty { return (.unlisten, known.query) }
    return (watchedRemote && !known.watchesRemote ? .stopWatchingRemote : .keep, known.query)
  }

  /// Marks the last snapshot as cached, so that a new listener does not receive it as confirmed by the
  /// remote.
  mutating func stopWatchingRemote(_ text: String) { queries[text]?.last?.isFromCache = true }

  mutating func take(_ snapshots: [ViewSnapshot]) -> [PendingDelivery] {
    var deliveries: [PendingDelivery] = []
    for snapshot in snapshots {
      let text = snapshot.query.canonicalID
      guard var known = queries.removeValue(forKey: text) else { continue }
      for index in known.listeners.indices {
        if let delivered = known.listeners[index].take(snapshot) {
          deliveries.append(PendingDelivery(id: known.listeners[index].id, snapshot: delivered))
        }
      }
      known.last = snapshot
      queries[text] = known
    }
    return deliveries
  }

  mutating func take(_ state: OnlineState) -> [PendingDelivery] {
    online = state
    var deliveries: [PendingDelivery] = []
    for text in queries.keys.sorted() {
      guard var known = queries.removeValue(forKey: text) else { continue }
      for index in known.listeners.indices {
        if let delivered = known.listeners[index].take(state) {
          deliveries.append(PendingDelivery(id: known.listeners[index].id, snapshot: delivered))
        }
      }
      queries[text] = known
    }
    return deliveries
  }

  /// Drops a failed query. Returns the ids of its listeners.
  mutating func fail(_ query: StructuredQuery) -> [ListenerID] {
    let ids = queries.removeValue(forKey: query.canonicalID)?.listeners.map(\.id) ?? []
    for id in ids { queryTexts[id] = nil }
    return ids
  }
}

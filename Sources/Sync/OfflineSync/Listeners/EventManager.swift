// Who listens to what, and who is told.

internal import DocumentStore

struct EventManager {
  /// What is asked of the engine below.
  enum Request {
    case none
    /// Make a view of the query, and ask the remote if wanted.
    case listen(asksRemote: Bool)
    /// There is a view. Now ask the remote, too.
    case askRemote
    /// There are others who listen.
    case keep
    /// No view is needed any more.
    case unlisten
    /// The view stays, and the remote is not asked any more.
    case leaveRemote
  }

  private struct Query {
    let query: StructuredQuery
    var listeners: [QueryListener] = []
    var last: ViewSnapshot?

    var asksRemote: Bool { listeners.contains { !$0.rules.isCacheOnly } }
  }

  /// A listener and what it is to be told.
  struct Telling {
    var id: ListenerID
    var snapshot: ViewSnapshot
  }

  private var queries: [String: Query] = [:]
  private var textOf: [ListenerID: String] = [:]
  private(set) var online = OnlineState.unknown

  func query(of id: ListenerID) -> StructuredQuery? { textOf[id].flatMap { queries[$0]?.query } }

  /// The last state of what a listener listens to, told or not, as the first one that it is told.
  func last(of id: ListenerID) -> ViewSnapshot? { textOf[id].flatMap { queries[$0]?.last?.asFirst } }

  /// Whether somebody listens to a query and wants to know what the remote says of it.
  func asksRemote(_ text: String) -> Bool { queries[text]?.asksRemote ?? false }

  /// Listeners of a query that want the remote's answer.
  func askingRemote(_ text: String) -> [ListenerID] {
    queries[text]?.listeners.filter { !$0.rules.isCacheOnly }.map(\.id) ?? []
  }

  mutating func add(
    _ id: ListenerID, to query: StructuredQuery, _ rules: ListenRules
  ) -> (request: Request, tellings: [Telling]) {
    let text = query.canonicalID
    var known = queries[text] ?? Query(query: query)
    let request: Request =
      known.listeners.isEmpty
      ? .listen(asksRemote: !rules.isCacheOnly) : !known.asksRemote && !rules.isCacheOnly ? .askRemote : .none
    var listener = QueryListener(id, rules)
    var tellings: [Telling] = []
    if let snapshot = listener.take(online) { tellings.append(Telling(id: id, snapshot: snapshot)) }
    if let last = known.last, let snapshot = listener.take(last) {
      tellings.append(Telling(id: id, snapshot: snapshot))
    }
    known.listeners.append(listener)
    queries[text] = known
    textOf[id] = text
    return (request, tellings)
  }

  mutating func remove(_ id: ListenerID) -> (request: Request, query: StructuredQuery?) {
    guard let text = textOf.removeValue(forKey: id), var known = queries[text] else { return (.none, nil) }
    let askedRemote = known.asksRemote
    known.listeners.removeAll { $0.id == id }
    queries[text] = known.listeners.isEmpty ? nil : known
    if known.listeners.isEmpty { return (.unlisten, known.query) }
    return (askedRemote && !known.asksRemote ? .leaveRemote : .keep, known.query)
  }

  /// Whoever comes now is not told that the remote has confirmed what is known.
  mutating func leaveRemote(_ text: String) { queries[text]?.last?.isFromCache = true }

  mutating func take(_ snapshots: [ViewSnapshot]) -> [Telling] {
    var tellings: [Telling] = []
    for snapshot in snapshots {
      let text = snapshot.query.canonicalID
      guard var known = queries.removeValue(forKey: text) else { continue }
      for index in known.listeners.indices {
        if let told = known.listeners[index].take(snapshot) {
          tellings.append(Telling(id: known.listeners[index].id, snapshot: told))
        }
      }
      known.last = snapshot
      queries[text] = known
    }
    return tellings
  }

  mutating func take(_ state: OnlineState) -> [Telling] {
    online = state
    var tellings: [Telling] = []
    for text in queries.keys.sorted() {
      guard var known = queries.removeValue(forKey: text) else { continue }
      for index in known.listeners.indices {
        if let told = known.listeners[index].take(state) {
          tellings.append(Telling(id: known.listeners[index].id, snapshot: told))
        }
      }
      queries[text] = known
    }
    return tellings
  }

  /// The query has failed: it is forgotten. Who listened.
  mutating func fail(_ query: StructuredQuery) -> [ListenerID] {
    let ids = queries.removeValue(forKey: query.canonicalID)?.listeners.map(\.id) ?? []
    for id in ids { textOf[id] = nil }
    return ids
  }
}

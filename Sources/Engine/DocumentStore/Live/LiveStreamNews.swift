// The news of one query that a stream has not delivered yet.

struct LiveStreamNews: Sendable {
  /// The latest state; nil if there is none since the last delivery.
  private(set) var results: LiveResults?
  /// Whether the stream has delivered no state of the query.
  private(set) var isFirst: Bool
  /// The changes since the delivered state, by document key. Each document is in the delivered state or in
  /// the latest one, so there are at most as many changes as documents in both.
  private(set) var changes: [[UInt8]: LiveDifference.Change] = [:]
  var failure: DocumentStoreError?

  init(isFirst: Bool) { self.isFirst = isFirst }

  mutating func add(_ results: LiveResults, _ later: [LiveDifference.Change]) {
    self.results = results
    guard !isFirst else { return }
    for change in later { add(change) }
  }

  /// Adds the news of a later round.
  mutating func add(_ later: LiveStreamNews) {
    if let results = later.results { add(results, Array(later.changes.values)) }
    failure = later.failure ?? failure
  }

  private mutating func add(_ change: LiveDifference.Change) {
    guard let name = (change.old ?? change.new)?.name else { return }
    let old = changes[name].map(\.old) ?? change.old
    // A document that came and left since the last delivery is not delivered.
    guard old != nil || change.new != nil else {
      changes[name] = nil
      return
    }
    changes[name] = LiveDifference.Change(old: old, new: change.new, lastState: change.lastState)
  }

  // MARK: Delivering

  /// The state to deliver; nil if consumers would notice no difference. `lastStates` has the last known
  /// states of documents that left this query or another one of the stream.
  func state(_ lastStates: LastStates) -> LiveQueryState? {
    guard let results else { return nil }
    if isFirst { return LiveQueryState(documents: results, isFirst: true, changes: []) }
    let changes = visibleChanges(lastStates)
    return changes.isEmpty ? nil : LiveQueryState(documents: results, isFirst: false, changes: changes)
  }

  private func visibleChanges(_ lastStates: LastStates) -> [LiveStreamChange] {
    var removed: [LiveDifference.Change] = []
    var added: [LiveDifference.Change] = []
    var modified: [LiveDifference.Change] = []
    for change in changes.values {
      switch (change.old, change.new) {
      case (_?, nil): removed.append(change)
      case (nil, _?): added.append(change)
      case (let old?, let new?) where old !== new && old.document != new.document: modified.append(change)
      default: break
      }
    }
    removed.sort { Self.precedes($0.old, $1.old) }
    added.sort { Self.precedes($0.new, $1.new) }
    modified.sort { Self.precedes($0.new, $1.new) }
    return [removed, added, modified].joined().compactMap { change in
      guard let entry = change.old ?? change.new else { return nil }
      return LiveStreamChange(
        path: entry.document.path, old: change.old?.document, new: change.new?.document,
        departure: lastStates.departure(change))
    }
  }

  private static func precedes(_ left: LiveEntry?, _ right: LiveEntry?) -> Bool {
    guard let left, let right else { return false }
    return left.sortKey.precedes(right.sortKey)
  }
}

/// The last known states of the documents that left a query. The queries of a stream may see a document leave
/// after different commits. In one snapshot, a document has only one state.
struct LastStates {
  private var lastStates: [[UInt8]: LastState] = [:]
  private var present: [[UInt8]: StoredDocument] = [:]

  init(_ news: some Collection<LiveStreamNews>) {
    guard news.count > 1 else { return }
    for change in news.lazy.map(\.changes.values).joined() where change.new == nil {
      guard let name = change.old?.name, let lastState = change.lastState else { continue }
      if let known = lastStates[name], known.number > lastState.number { continue }
      lastStates[name] = lastState
    }
    guard !lastStates.isEmpty else { return }
    for change in news.lazy.map(\.changes.values).joined() {
      if let new = change.new, lastStates[new.name] != nil { present[new.name] = new.document }
    }
  }

  func departure(_ change: LiveDifference.Change) -> Departure? {
    guard let old = change.old, change.new == nil else { return nil }
    if let document = present[old.name] {
      return LastState(number: 0, time: nil, document: document).departure(from: old.document)
    }
    let lastState = lastStates[old.name] ?? change.lastState
    return lastState?.departure(from: old.document) ?? .displaced
  }
}

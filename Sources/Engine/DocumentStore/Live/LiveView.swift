// One query that someone listens to: its answer, kept up with every commit.
//
// Without a limit, the answer is all that match. With one, the view has a window of the first that match, some more
// than the limit; what lies behind it is not known. A document that leaves the window is made up for by those behind
// the limit; when there are too few of them, the query is run again, which is one look into its index.

/// Protected by the lock of the live queries.
final class LiveView {
  let query: StructuredQuery
  let run: StructuredQuery
  /// What concerns it is in collections with this id.
  let collectionID: String
  /// In the order in which they came.
  let number: Int
  var listeners: [LiveListener] = []
  /// While the query is run, commits are noted; nil then is the answer.
  private(set) var isLoading = true
  private var backlog: [(number: UInt64, change: PublishedChange)] = []
  private var backlogBytes = 0
  private var isBacklogLost = false
  /// How often what was noted was let go of: an answer that was asked for before that cannot be kept up any more.
  private(set) var backlogsSoFar = 0
  /// Where it is found, by `anchors` as they were then.
  var place: LivePlace?
  /// What the query itself says; nil if that is nothing.
  private let fixedAnchors: [LiveAnchor]?
  /// Of the window, where the query says nothing.
  private var windowAnchor: LiveAnchor?
  /// `anchors` are other ones than those of the place.
  private(set) var hasMoved = false
  /// The indexes that it is filled up from.
  var pins: [IndexDefinition] = []
  /// An index is being made that it could be filled up from.
  var awaitsIndex = false
  /// Commits up to this number are in the answer.
  private var position: UInt64 = 0
  private var window = LiveResults()
  /// The window has all that match.
  private var isWhole = true
  /// For a limit on the last documents: entries of the window, by name, and what listeners see in their place, since
  /// they see another order.
  private var mirror: [[UInt8]: (entry: LiveEntry, seen: LiveEntry)] = [:]
  /// Listeners were told a state.
  private(set) var isTold = false
  /// While the query is run again, of the last commit before: whoever comes meanwhile sees the state as of then.
  var timeShown: StoredTimestamp?
  /// What listeners see.
  private(set) var results = LiveResults()
  /// Since listeners were told, of a query without a limit.
  private var changes: [LiveDifference.Change] = []
  private var isWindowTouched = false

  static let backlogMax = 10_000
  static let backlogBytesMax = 16 << 20

  init(_ query: StructuredQuery, number: Int) {
    self.query = query
    self.number = number
    run = query.asRun
    collectionID = run.scope.collectionID
    fixedAnchors = LiveAnchor.anchors(of: run)
  }

  /// Every change that may concern it satisfies one of these; nil if any change of its scope may.
  var anchors: [LiveAnchor]? {
    guard let fixedAnchors else { return windowAnchor.map { [$0] } }
    guard let windowAnchor else { return fixedAnchors }
    return fixedAnchors.map { $0.narrowed(by: windowAnchor) }
  }

  /// Other than `anchors`, it stays the same as long as the view is listened to.
  var interest: LiveInterest {
    LiveInterest(scope: run.scope, collectionID: collectionID, anchors: fixedAnchors)
  }

  func settleDown() { hasMoved = false }

  /// Nobody listens any more. Whoever still refers to the view keeps no documents for it.
  func empty() {
    window = LiveResults()
    results = LiveResults()
    mirror = [:]
    changes = []
    clearBacklog()
  }

  var limit: Int? { if case .first(let count) = run.limit { count } else { nil } }

  /// The window grows up to this.
  private var capacity: Int { limit.map { min($0, 1 << 40) }.map { $0 + max(8, $0 / 4) } ?? .max }

  /// The query to run for an answer that can be kept.
  var loading: StructuredQuery {
    guard limit != nil else { return run }
    var query = run
    query.limit = .first(capacity)
    return query
  }

  // MARK: Loading

  /// What the view keeps of an answer. Needs no lock.
  func window(_ documents: [StoredDocument]) -> LiveResults {
    LiveResults(
      sorted: documents.compactMap { document in
        run.sortKey(document).map { LiveEntry($0, DocumentKey.encode(document.path), document) }
      })
  }

  /// Until it is loaded once more, listeners see what they were told last.
  func loadAgain() {
    isLoading = true
    clearBacklog()
  }

  /// The answer as of a commit, in which so many documents were found. False if it has to be run again, since too much
  /// has happened meanwhile.
  func load(_ window: LiveResults, of count: Int, at position: UInt64) -> Bool {
    defer { clearBacklog() }
    guard !isBacklogLost else { return false }
    self.position = position
    isLoading = false
    isWhole = count < capacity
    self.window = window
    for (number, change) in backlog { apply(change, number: number) }
    guard !needsLoading else {
      isLoading = true
      return false
    }
    // Whoever was told nothing gets all of it, and no differences.
    changes =
      limit == nil && isTold
      ? LiveDifference.pairs(results.prefix(entries: .max), self.window.prefix(entries: .max)) : []
    isWindowTouched = true
    findAnchor()
    return true
  }

  private func clearBacklog() {
    backlog = []
    backlogBytes = 0
    isBacklogLost = false
    backlogsSoFar += 1
  }

  /// The window only ever ends earlier until it is loaded again, so that this holds until then.
  private func findAnchor() {
    guard fixedAnchors?.contains(where: \.isRange) ?? true else { return }
    let anchor = isWhole ? nil : window.last.flatMap { LiveAnchor.through($0, of: run) }
    hasMoved = hasMoved || anchor != nil || windowAnchor != nil
    windowAnchor = anchor
  }

  /// There are too few documents behind the limit, and more elsewhere.
  var needsLoading: Bool { !isLoading && !isWhole && limit.map { window.count < $0 } ?? false }

  // MARK: Following

  func apply(_ change: PublishedChange, number: UInt64) {
    guard !isLoading else { return note(change, number) }
    guard number > position else { return }
    let old = entry(before: change)
    if let old { window.remove(sortKey: old.sortKey) }
    var new: LiveEntry?
    if let after = change.after, run.matches(after), let key = run.sortKey(after), isInWindow(key) {
      let entry = LiveEntry(key, change.key, after)
      window.insert(entry)
      new = entry
    }
    while window.count > capacity, let last = window.last {
      window.remove(sortKey: last.sortKey)
      if isWhole {
        isWhole = false
        findAnchor()
      }
    }
    guard old != nil || new != nil else { return }
    if limit == nil { changes.append(LiveDifference.Change(old: old, new: new)) }
    isWindowTouched = true
  }

  private func note(_ change: PublishedChange, _ number: UInt64) {
    guard !isBacklogLost else { return }
    backlogBytes += change.bytes
    guard backlog.count < Self.backlogMax, backlogBytes <= Self.backlogBytesMax else {
      backlog = []
      isBacklogLost = true
      return
    }
    backlog.append((number, change))
  }

  private func entry(before change: PublishedChange) -> LiveEntry? {
    switch change.before {
    case .none: nil
    case .document(let document): run.sortKey(document).flatMap { window.entry(sortKey: $0) }
    case .unknown: window.first(named: change.key)
    }
  }

  /// Nothing is known of what lies behind the last document, unless the window has all.
  private func isInWindow(_ key: [UInt8]) -> Bool {
    isWhole || window.last.map { key.precedes($0.sortKey) } ?? false
  }

  // MARK: Telling

  /// What is different for listeners since the last call.
  func takeChanges() -> [LiveDifference.Change] {
    isTold = true
    guard isWindowTouched else { return [] }
    isWindowTouched = false
    defer { changes = [] }
    guard let limit else {
      results = window
      return changes
    }
    let (old, new) = (results.prefix(entries: .max), exposed(limit))
    results = LiveResults(sorted: new)
    return LiveDifference.pairs(old, new)
  }

  /// The window up to the limit, in the order of the query.
  private func exposed(_ limit: Int) -> [LiveEntry] {
    let first = window.prefix(entries: limit)
    guard case .last = query.limit else { return first }
    var mirror: [[UInt8]: (entry: LiveEntry, seen: LiveEntry)] = [:]
    var exposed: [LiveEntry] = []
    for entry in first.reversed() {
      var seen = self.mirror[entry.name].flatMap { $0.entry === entry ? $0.seen : nil }
      // The same as before if it can be, so that nobody takes it for a change.
      seen = seen ?? query.sortKey(entry.document).map { LiveEntry($0, entry.name, entry.document) }
      guard let seen else { continue }
      mirror[entry.name] = (entry, seen)
      exposed.append(seen)
    }
    self.mirror = mirror
    return exposed
  }
}

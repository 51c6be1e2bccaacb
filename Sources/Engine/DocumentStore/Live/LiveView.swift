// One query with listeners: its result, updated with every commit.
//
// Without a limit, the result is all matching documents. With a limit, the view keeps a window: the first
// matching documents, somewhat more than the limit. The view has no information about documents after the
// window. When a document leaves the result, one of the spare documents replaces it. When no spare document
// is left, the query runs again, which takes one index lookup.

/// Protected by the lock of `LiveQueries`.
final class LiveView {
  let query: StructuredQuery
  let run: StructuredQuery
  /// Only changes in collections with this id concern the view.
  let collectionID: String
  /// Views are numbered in order of creation.
  let number: Int
  var listeners: [any LiveAudience] = []
  /// Listeners that wait for their first state, because the view was loading when they came.
  var owed: [any LiveAudience] = []
  /// Whether the view keeps the states of documents that leave the result.
  var keepsLastStates = false
  /// The last states of the documents that have changed since listeners were last notified.
  var lastStates: [[UInt8]: LastState] = [:]
  /// True while the query runs or has to run again; commits then go into the backlog.
  private(set) var isLoading = true
  /// True if the query has to run again and no thread has begun that.
  private(set) var awaitsRun = false
  private var backlog: [(number: UInt64, time: StoredTimestamp, change: PublishedChange)] = []
  private var backlogBytes = 0
  private var isBacklogLost = false
  /// The number of times that the backlog was cleared. An answer that was requested before the last time
  /// cannot be brought up to date.
  private(set) var backlogGeneration = 0
  /// The view's entry in the matcher. The entry is registered under the `anchors` that the view had at the
  /// time of registration.
  var place: LiveMatcherEntry?
  /// The anchors from the query's conditions; nil if the conditions yield none.
  private let fixedAnchors: [LiveAnchor]?
  /// The anchor from the window's end, if the conditions yield no better anchor.
  private var windowAnchor: LiveAnchor?
  /// True if `anchors` have changed since the view was last registered in the matcher.
  private(set) var needsReregistration = false
  /// The indexes that the view pinned for reloading.
  var pins: [IndexDefinition] = []
  /// True while an index for reloading is being built.
  var awaitsIndex = false
  /// The last commit that the answer to the query includes. Later commits have been applied to the result.
  private(set) var mark = CommitMark()
  private(set) var window = LiveResults()
  /// True if the window holds all matching documents.
  private var holdsAllMatches = true
  /// For a limit to the last documents: a map from a document's name to its window entry and to the entry
  /// that listeners see. The two entries have different sort keys, because the query runs in reverse order.
  private var mirror: [[UInt8]: (entry: LiveEntry, seen: LiveEntry)] = [:]
  /// True once listeners have received a state.
  private(set) var wasNotified = false
  /// The time of the last commit before the query started to run again. While it runs, new listeners see the
  /// state of that time.
  var timeShown: StoredTimestamp?
  /// The documents that listeners see.
  private(set) var results = LiveResults()
  /// The changes since listeners were last notified, for a query without a limit.
  private var changes: [LiveDifference.Change] = []
  private var isWindowChanged = false

  static let backlogMax = 10_000
  static let backlogBytesMax = 16 << 20

  init(_ query: StructuredQuery, number: Int) {
    self.query = query
    self.number = number
    run = query.executableForm
    collectionID = run.scope.collectionID
    fixedAnchors = LiveAnchor.anchors(of: run)
  }

  /// Every change that may concern the view satisfies one of these anchors. Nil if any change in the scope
  /// may concern the view.
  var anchors: [LiveAnchor]? {
    guard let fixedAnchors else { return windowAnchor.map { [$0] } }
    guard let windowAnchor else { return fixedAnchors }
    return fixedAnchors.map { $0.narrowed(by: windowAnchor) }
  }

  func noteRegistered() { needsReregistration = false }

  /// Frees the view's documents. Call this when the last listener has left: other objects may still refer to
  /// the view and would keep the documents in memory.
  func empty() {
    window = LiveResults()
    results = LiveResults()
    mirror = [:]
    changes = []
    lastStates = [:]
    clearBacklog()
  }

  var limit: Int? { if case .first(let count) = run.limit { count } else { nil } }

  /// The number of documents that decide the result; nil without a limit.
  private var reach: Int? { run.reach }

  /// Whether listeners see only a part of the window.
  var showsPart: Bool { limit != nil || run.offset > 0 }

  /// The maximum size of the window.
  private var capacity: Int { reach.map { min($0, 1 << 40) }.map { $0 + max(8, $0 / 4) } ?? .max }

  /// The query to run for loading: the limit is raised to the window's capacity.
  var loading: StructuredQuery {
    guard showsPart else { return run }
    var query = run
    query.offset = 0
    if limit != nil { query.limit = .first(capacity) }
    return query
  }

  // MARK: Loading

  /// Builds the window from an answer. Needs no lock.
  func window(_ documents: [StoredDocument]) -> LiveResults {
    LiveResults(
      sorted: documents.compactMap { document in
        run.sortKey(document).map { LiveEntry($0, DocumentKey.encode(document.path), document: document) }
      })
  }

  /// Marks the view as loading and discards the backlog. Until the next load, listeners see the last
  /// delivered state.
  func restartLoading() {
    isLoading = true
    awaitsRun = false
    clearBacklog()
  }

  /// Marks the view as loading, but leaves the query to `LiveQueries.runAgain`.
  func awaitRun() {
    restartLoading()
    awaitsRun = true
  }

  /// Replaces the window with the answer to the query. Returns false if the query must run again, because too
  /// much has changed meanwhile.
  func load(_ window: LiveResults, _ answer: LiveAnswer) -> Bool {
    defer { clearBacklog() }
    guard !isBacklogLost else { return false }
    mark = answer.mark
    isLoading = false
    holdsAllMatches = answer.documents.count < capacity
    self.window = window
    if keepsLastStates { noteLastStates(answer) }
    for (number, time, change) in backlog { apply(change, number: number, time: time) }
    guard !needsLoading else {
      isLoading = true
      return false
    }
    awaitsRun = false
    // Listeners that have received nothing get the whole state instead of changes.
    changes =
      !showsPart && wasNotified
      ? LiveDifference.pairs(results.prefix(entries: .max), self.window.prefix(entries: .max)) : []
    isWindowChanged = true
    findAnchor()
    return true
  }

  private func clearBacklog() {
    backlog = []
    backlogBytes = 0
    isBacklogLost = false
    backlogGeneration += 1
  }

  /// Updates the window's anchor. Until the next load, the end of the window only moves toward the front, so
  /// the anchor stays valid until then.
  private func findAnchor() {
    guard fixedAnchors?.contains(where: \.isRange) ?? true else { return }
    let anchor = holdsAllMatches ? nil : window.last.flatMap { LiveAnchor.through($0, of: run) }
    needsReregistration = needsReregistration || anchor != nil || windowAnchor != nil
    windowAnchor = anchor
  }

  /// True if the window holds fewer documents than the limit while other documents may match.
  var needsLoading: Bool { !isLoading && !holdsAllMatches && reach.map { window.count < $0 } ?? false }

  // MARK: Following

  /// Applies a change of the commit with this number and time.
  func apply(_ change: PublishedChange, number: UInt64, time: StoredTimestamp) {
    guard !isLoading else { return note(change, number: number, time: time) }
    guard number > mark.number else { return }
    if keepsLastStates {
      lastStates[change.key] = LastState(number: number, time: time, document: change.after)
    }
    let old = entry(before: change)
    if let old { window.remove(sortKey: old.sortKey) }
    var new: LiveEntry?
    if let after = change.after, run.matches(after), let key = run.sortKey(after), isInWindow(key) {
      let entry = LiveEntry(key, change.key, document: after)
      window.insert(entry)
      new = entry
    }
    while window.count > capacity, let last = window.last {
      window.remove(sortKey: last.sortKey)
      if holdsAllMatches {
        holdsAllMatches = false
        findAnchor()
      }
    }
    guard old != nil || new != nil else { return }
    if !showsPart { changes.append(LiveDifference.Change(old: old, new: new)) }
    isWindowChanged = true
  }

  private func note(_ change: PublishedChange, number: UInt64, time: StoredTimestamp) {
    guard !isBacklogLost else { return }
    backlogBytes += change.bytes
    guard backlog.count < Self.backlogMax, backlogBytes <= Self.backlogBytesMax else {
      backlog = []
      isBacklogLost = true
      return
    }
    backlog.append((number, time, change))
  }

  private func entry(before change: PublishedChange) -> LiveEntry? {
    switch change.before {
    case .none: nil
    case .document(let document): run.sortKey(document).flatMap { window.entry(sortKey: $0) }
    case .unknown: window.first(named: change.key)
    }
  }

  /// Whether a document with this sort key belongs in the window. Documents after the last one in the window
  /// are unknown, unless the window holds all matching documents.
  private func isInWindow(_ key: [UInt8]) -> Bool {
    holdsAllMatches || window.last.map { key.precedes($0.sortKey) } ?? false
  }

  // MARK: Notifying

  /// Returns the changes since the last call, to be offered to the listeners. At that call, the results
  /// included all commits up to `number`.
  func takeChanges(since number: UInt64) -> [LiveDifference.Change] {
    wasNotified = true
    defer { lastStates = [:] }
    guard isWindowChanged else { return [] }
    isWindowChanged = false
    defer { changes = [] }
    guard showsPart else {
      results = window
      return withLastStates(changes, since: number)
    }
    let (old, new) = (results.prefix(entries: .max), visibleEntries)
    results = LiveResults(sorted: new)
    return withLastStates(LiveDifference.pairs(old, new), since: number)
  }

  /// The window's entries behind the offset and up to the limit, in query order.
  private var visibleEntries: [LiveEntry] {
    let first = Array(window.prefix(entries: reach ?? .max).dropFirst(run.offset))
    guard case .last = query.limit else { return first }
    var mirror: [[UInt8]: (entry: LiveEntry, seen: LiveEntry)] = [:]
    var visible: [LiveEntry] = []
    for entry in first.reversed() {
      var seen = self.mirror[entry.name].flatMap { $0.entry === entry ? $0.seen : nil }
      // Reuse the previous entry, because a new entry object would count as a change.
      seen = seen ?? query.sortKey(entry.document).map { LiveEntry($0, entry.name, document: entry.document) }
      guard let seen else { continue }
      mirror[entry.name] = (entry, seen)
      visible.append(seen)
    }
    self.mirror = mirror
    return visible
  }
}

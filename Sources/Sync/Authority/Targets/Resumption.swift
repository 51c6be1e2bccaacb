// The answer to a client that resumes a target from a token.
//
//   1. the feed has all changes since the token       these changes
//   2. the client tells how many documents it has     the documents with later update times, and a filter
//   3. otherwise                                      everything, after a reset
//
// In cases 1 and 2, the number of the client's documents is compared with the numbers that are possible in
// the state of its token:
//
//   the only possible number        no filter
//   one of several, in case 1       a filter with a count, which a client in that state finds to be right
//   any other                       a filter with names, by which the client finds what it has too many
//
// A target with a limit is always case 3: a document that enters such a target need not have changed.

internal import DocumentStore
internal import OfflineSync

struct Resumption {
  /// The documents that the client does not have in this state, and documents that have left the target. The
  /// latter have no content if the user may not read them any more.
  private(set) var documents: [(path: DocumentPath, document: RemoteDocument?, isIn: Bool)] = []
  private(set) var filter = Filter.none

  /// The existence filter that a client needs. One with names has more than a byte for each document.
  enum Filter { case none, count, names }

  /// The parts of a session that a resumption reads.
  struct Context {
    let backend: any DocumentBackend
    let mayRead: (DocumentPath) -> Bool
    /// The position and time of the snapshot to resume to.
    let position: FeedPosition?
    let version: SnapshotVersion
    /// The changes up to that snapshot of the targets that are completed in it.
    let windows: [TargetID: FeedWindow]
  }

  /// Returns nil in case 3. `present` is all documents of the target.
  init?(of target: WatchedTarget, _ present: [StoredDocument], in context: Context) {
    guard let mark = target.mark, let end = context.position, mark.position <= end else { return nil }
    if let window = context.windows[target.id] {
      guard add(window, of: target, present: present, in: context) else { return nil }
    } else {
      guard let expected = target.request.expectedCount else { return nil }
      for document in present where SnapshotVersion(document.updateTime) > mark.time {
        documents.append((document.path, RemoteDocument(document), true))
      }
      let isComplete = Self.staysComplete(
        target, present, changed: documents.count, since: mark, expected: expected)
      filter = isComplete ? .none : .names
    }
    documents.sort { left, right in
      let (first, second) = (left.document?.version ?? .none, right.document?.version ?? .none)
      return first != second ? first < second : ValueOrder.compare(left.path, right.path) == .before
    }
  }

  // MARK: From the feed

  /// Returns false if the changes do not suffice, and the client cannot process a filter.
  private mutating func add(
    _ window: FeedWindow, of target: WatchedTarget, present: [StoredDocument], in context: Context
  ) -> Bool {
    var departures = window.entries
    for document in present where departures.removeValue(forKey: document.path) != nil {
      documents.append((document.path, RemoteDocument(document), true))
    }
    let contents = Self.contents(of: departures, context) { path in
      target.isWholeScope || context.mayRead(path)
    }
    for path in departures.keys {
      if let content = contents[path] {
        documents.append((path, content, false))
      } else {
        // The user may not even know that the document exists.
        filter = .names
      }
    }
    guard let expected = target.request.expectedCount else { return filter == .none }
    let counts = Self.countsBefore(window, of: target, present: present)
    if !counts.contains(expected) {
      filter = .names
    } else if counts.count > 1, filter == .none {
      filter = .count
    }
    return true
  }

  /// The numbers of documents that a client with the state of the token can have.
  private static func countsBefore(
    _ window: FeedWindow, of target: WatchedTarget, present: [StoredDocument]
  ) -> ClosedRange<Int> {
    let unchanged = present.count { window.entries[$0.path] == nil }
    var counts = (min: unchanged, max: unchanged)
    for entry in window.entries.values where entry.existed != false {
      counts.max += 1
      // With conditions, it is unknown which of the changed documents matched before.
      if entry.existed == true, target.isWholeScope { counts.min += 1 }
    }
    return counts.min...counts.max
  }

  // MARK: Without the feed

  /// Whether no document has left the target since the token of a client with this number of documents. False
  /// if unknown.
  private static func staysComplete(
    _ target: WatchedTarget, _ present: [StoredDocument], changed: Int, since mark: BackendMark,
    expected: Int
  ) -> Bool {
    // Without conditions, the older documents were in the target. With conditions, this is only known of
    // those that have not changed.
    guard target.isWholeScope else { return expected == present.count - changed }
    return expected == present.count { SnapshotVersion($0.createTime) <= mark.time }
  }

  // MARK: Departures

  /// The states of documents that are not in the target any more, as far as the user may know them. Only
  /// the feed is known of these documents, so they may never have been in the target.
  private static func contents(
    of departures: [DocumentPath: FeedWindow.Entry], _ context: Context, mayKnow: (DocumentPath) -> Bool
  ) -> [DocumentPath: RemoteDocument] {
    var contents: [DocumentPath: RemoteDocument] = [:]
    var unknown: [DocumentPath] = []
    for (path, entry) in departures where mayKnow(path) {
      switch entry.last {
      case .removed: contents[path] = RemoteDocument(path, nil, version: entry.time)
      case .written(let document): contents[path] = RemoteDocument(document)
      case .writtenWithMuchElse: unknown.append(path)
      }
    }
    guard !unknown.isEmpty, let snapshot = try? context.backend.snapshot(.now) else { return contents }
    defer { snapshot.close() }
    for (path, record) in zip(unknown, (try? snapshot.documents(at: unknown)) ?? []) {
      // A state later than the snapshot could be inconsistent with other documents.
      guard let document = record?.document, SnapshotVersion(document.updateTime) <= context.version else {
        continue
      }
      contents[path] = RemoteDocument(document)
    }
    return contents
  }
}

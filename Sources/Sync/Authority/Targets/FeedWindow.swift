// The documents that have changed between the token of a target and a snapshot.

internal import DocumentStore
internal import OfflineSync

struct FeedWindow {
  struct Entry {
    /// Whether the document existed before the window; nil if unknown. Wrong for a document that was deleted
    /// and created again by one commit, so it only serves to count documents.
    let existed: Bool?
    /// The last change in the window, and its time.
    var last: FeedChange.Outcome
    var time: SnapshotVersion
  }

  private static let commitsPerPage = 500
  /// A client that has missed more changes than its target has documents is sent the whole target. This is
  /// the least number of changes for which that holds.
  private static let changesMin = 1000

  private(set) var entries: [DocumentPath: Entry] = [:]

  /// Reads the window. Returns nil if it is not kept any more, or if it has more changes than the target has
  /// documents.
  init?(
    of target: WatchedTarget, from mark: BackendMark, through end: FeedPosition, count: Int,
    in backend: any DocumentBackend
  ) throws(RemoteError) {
    let start = mark.time
    var mark = mark
    while mark.position < end {
      guard let page = try backend.changes(after: mark, max: Self.commitsPerPage) else { return nil }
      for commit in page.commits where commit.position <= end {
        for change in commit.changes where target.contains(scopeOf: change.path) {
          add(change, at: SnapshotVersion(commit.time), since: start)
        }
      }
      guard entries.count <= max(Self.changesMin, count) else { return nil }
      guard page.end.position > mark.position else { break }
      mark = page.end
    }
  }

  private mutating func add(_ change: FeedChange, at time: SnapshotVersion, since start: SnapshotVersion) {
    guard var entry = entries[change.path] else {
      entries[change.path] = Entry(
        existed: Self.existed(change.outcome, at: start), last: change.outcome, time: time)
      return
    }
    entry.last = change.outcome
    entry.time = time
    entries[change.path] = entry
  }

  /// Whether a document existed at a time before its first change.
  private static func existed(_ outcome: FeedChange.Outcome, at time: SnapshotVersion) -> Bool? {
    switch outcome {
    case .removed: true
    case .written(let document): SnapshotVersion(document.createTime) <= time
    case .writtenWithMuchElse: nil
    }
  }
}

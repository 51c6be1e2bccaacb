// The documents that have changed between the token of a target and a snapshot. The feed is read once for all
// targets of a snapshot that have equal tokens.

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

  /// A target and the number of its documents.
  struct Request {
    let target: WatchedTarget
    let count: Int
  }

  private static let commitsPerPage = 500
  /// A client that has missed more changes than its target has documents is sent the whole target. This is
  /// the least number of changes for which that holds.
  private static let changesMin = 1000
  /// With more changes in the feed, of any document, the targets' documents are cheaper to read.
  private static let changesReadMax = 200_000
  /// The maximum number of changes times targets. Each change is compared with each target.
  private static let comparisonsMax = 20_000_000

  private(set) var entries: [DocumentPath: Entry] = [:]

  /// Returns the windows of targets that are to be resumed, through the same end. A target has none if the
  /// feed does not have its window any more, or has more changes in it than the target has documents.
  static func windows(
    of requests: [Request], through end: FeedPosition, in backend: any DocumentBackend
  ) -> [TargetID: FeedWindow] {
    var windows: [TargetID: FeedWindow] = [:]
    // The tokens of a client's targets are usually of one snapshot. The feed is then read once.
    let resumable = requests.filter { $0.target.mark.map { $0.position <= end } ?? false }
    for (mark, requests) in Dictionary(grouping: resumable, by: \.target.mark) {
      guard let mark, let found = try? read(requests, from: mark, through: end, in: backend) else { continue }
      windows.merge(found) { first, _ in first }
    }
    return windows
  }

  private static func read(
    _ requests: [Request], from start: BackendMark, through end: FeedPosition, in backend: any DocumentBackend
  ) throws(RemoteError) -> [TargetID: FeedWindow]? {
    var windows = Dictionary(uniqueKeysWithValues: requests.map { ($0.target.id, FeedWindow()) })
    var requests = requests
    var mark = start
    var changesRead = 0
    while mark.position < end {
      guard !requests.isEmpty, changesRead <= changesReadMax,
        changesRead * requests.count <= comparisonsMax,
        let page = try backend.changes(after: mark, max: commitsPerPage), page.end.position > mark.position
      else { return nil }
      for commit in page.commits where commit.position <= end {
        changesRead += commit.changes.count
        for change in commit.changes {
          for request in requests where request.target.contains(scopeOf: change.path) {
            windows[request.target.id]?.add(change, at: SnapshotVersion(commit.time), since: start.time)
          }
        }
      }
      requests.removeAll { request in
        let id = request.target.id
        guard let window = windows[id], window.entries.count > max(changesMin, request.count) else {
          return false
        }
        windows[id] = nil
        return true
      }
      mark = page.end
    }
    return windows
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

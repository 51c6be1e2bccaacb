// The commits of the change feed that a reader has not seen, as `dugout watch` prints them.

import DocumentStore

struct FeedReading {
  var isNew: Bool
  var isForgotten = false
  /// Whether older commits are no longer in the feed.
  var isTruncated = false
  var commits: [FeedCommit] = []

  /// Whether there is anything to print while commits are followed.
  var isEmpty: Bool { commits.isEmpty && !isTruncated }

  /// Reads everything after the position of the reader `name`, and registers it if it is new.
  static func of(
    _ name: String, in store: DocumentStore
  ) throws(DocumentStoreError) -> (FeedReading, FeedConsumer) {
    let isNew = !store.feedConsumers.contains(name)
    let consumer = try store.feedConsumer(name)
    var seen = try FeedReading(with: consumer)
    seen.isNew = isNew
    return (seen, consumer)
  }

  /// The reading after `name` was unregistered.
  static let forgotten = FeedReading(isNew: false, isForgotten: true)

  private init(isNew: Bool, isForgotten: Bool = false) {
    self.isNew = isNew
    self.isForgotten = isForgotten
  }

  /// Reads everything after the position of a consumer.
  init(with consumer: FeedConsumer) throws(DocumentStoreError) {
    isNew = false
    while true {
      let found: [FeedCommit]
      do throws(DocumentStoreError) {
        found = try consumer.read(max: 1000)
      } catch {
        guard case .feedTruncated = error, !isTruncated else { throw error }
        isTruncated = true
        consumer.skipToStart()
        continue
      }
      guard !found.isEmpty else { break }
      commits += found
    }
  }

  // MARK: Answers

  /// The lines for the reader `name`.
  func text(_ name: String) -> String {
    if isForgotten { return "Nothing is kept for \(name) any more." }
    if isNew { return "From now on, commits are kept for \(name)." }
    var lines = isTruncated ? ["Older commits are not kept any more."] : []
    if commits.isEmpty { lines.append("Nothing was committed since the last time.") }
    for commit in commits {
      lines.append("\(DocumentText.text(of: commit.time))  number \(commit.position.value) of the feed")
      lines += commit.changes.map { change in
        let path = PathText.printed(change.path.segments)
        return switch change.outcome {
        case .written(let document):
          (document.createTime == commit.time ? "  + " : "  ~ ") + path
        case .writtenWithMuchElse: "  ~ \(path) (see there: the commit was too large to be kept)"
        case .removed: "  - \(path)"
        }
      }
    }
    return lines.joined(separator: "\n")
  }

  func object(_ name: String) -> JSON {
    [
      "name": name, "new": isNew, "forgotten": isForgotten, "truncated": isTruncated,
      "commits": commits.map { commit in
        [
          "position": commit.position.value, "time": DocumentText.text(of: commit.time),
          "changes": commit.changes.map { change in Self.object(change) },
        ] as JSON
      },
    ]
  }

  private static func object(_ change: FeedChange) -> JSON {
    var object: JSON = ["path": change.path.description]
    switch change.outcome {
    case .written(let document): object["document"] = DocumentJSON.object(of: document)
    case .writtenWithMuchElse: object["written"] = .boolean(true)
    case .removed: object["removed"] = .boolean(true)
    }
    return object
  }
}

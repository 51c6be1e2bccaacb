// dugout watch DIR [NAME]: what was committed since NAME was here last.

import DocumentStore

enum WatchCommand: Command {
  static let name = "watch"
  static let summary = "Prints what was committed since the last time"
  static let usage = "DIR [NAME] [--forget] [--json]"
  static let options = [
    (option: "--forget", meaning: "Keep nothing for NAME any more"),
    (option: Arguments.json, meaning: "One JSON object with all commits and the type of every value"),
  ]
  static let positional = 1...2
  static let shellForm = ShellForm.none
  static let notes = [
    "The first time, NAME is entered as a reader of the change feed: from then on a store keeps what is committed",
    "until NAME has seen it, for seven days at most. Without a name it is \"watch\". Live queries are in \"dugout shell\":",
    "a store has one process. The numbers count what the feed has kept, and not all commits, as those of \"dugout stat\" do.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let name = arguments.positional.count > 1 ? arguments.positional[1] : "watch"
    let forgets = arguments.has("--forget")
    let seen = try StoreAccess.withStore(arguments.positional[0]) { store throws(DocumentStoreError) in
      try look(at: store, name, forgets: forgets)
    }
    arguments.answer(text(seen, name), object(seen, name))
  }

  private struct Seen {
    var isNew: Bool
    var isForgotten = false
    /// Some commits before these were not kept.
    var isTruncated = false
    var commits: [FeedCommit] = []
  }

  private static func look(
    at store: DocumentStore, _ name: String, forgets: Bool
  ) throws(DocumentStoreError) -> Seen {
    var seen = Seen(isNew: !store.feedConsumers.contains(name))
    if forgets {
      if !seen.isNew { try store.feedConsumer(name).unregister() }
      seen.isForgotten = true
      return seen
    }
    let consumer = try store.feedConsumer(name)
    while true {
      let commits: [FeedCommit]
      do throws(DocumentStoreError) {
        commits = try consumer.read(max: 1000)
      } catch {
        guard case .feedTruncated = error, !seen.isTruncated else { throw error }
        seen.isTruncated = true
        consumer.skipToStart()
        continue
      }
      guard !commits.isEmpty else { break }
      seen.commits += commits
    }
    try consumer.acknowledge(consumer.position)
    return seen
  }

  // MARK: Answers

  private static func text(_ seen: Seen, _ name: String) -> String {
    if seen.isForgotten { return "Nothing is kept for \(name) any more." }
    if seen.isNew { return "From now on, commits are kept for \(name). Run this again after some." }
    var lines = seen.isTruncated ? ["Older commits are not kept any more."] : []
    if seen.commits.isEmpty { lines.append("Nothing was committed since the last time.") }
    for commit in seen.commits {
      lines.append("\(DocumentText.text(of: commit.time))  number \(commit.position.value) of the feed")
      lines += commit.changes.map { change in
        switch change.outcome {
        case .written(let document):
          (document.createTime == commit.time ? "  + " : "  ~ ") + change.path.description
        case .writtenWithMuchElse: "  ~ \(change.path) (see there: the commit was too large to be kept)"
        case .removed: "  - \(change.path)"
        }
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func object(_ seen: Seen, _ name: String) -> JSON {
    [
      "name": name, "new": seen.isNew, "forgotten": seen.isForgotten, "truncated": seen.isTruncated,
      "commits": seen.commits.map { commit in
        [
          "position": commit.position.value, "time": DocumentText.text(of: commit.time),
          "changes": commit.changes.map { change in object(change) },
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

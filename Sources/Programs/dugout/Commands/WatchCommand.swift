// dugout watch DIR [NAME]: prints the commits since the last run for NAME.

import DocumentStore
import Foundation

enum WatchCommand: Command {
  static let name = "watch"
  static let summary = "Prints what was committed since the last time"
  static let usage = "DIR [NAME] [--forget] [--json]"
  static let options = [
    (option: "--forget", meaning: "Stop keeping commits for NAME"),
    (option: Arguments.json, meaning: "One JSON object with all commits and the type of every value"),
  ]
  static let positional = 1...2
  static let shellForm = ShellForm.none
  static let notes = [
    "The first time, NAME is registered as a reader of the change feed: from then on a store keeps what is committed",
    "until NAME has seen it, for seven days at most. Without a name it is \"watch\". Live queries are in \"dugout shell\".",
    "The numbers count what the feed has kept, and not all commits, as those of \"dugout stat\" do.",
    "What could not be printed is kept for the next time. --forget of an unknown NAME lists the known ones.",
    "While an app has the store open, this prints what NAME has not seen, and then each commit as it is made, until",
    "Ctrl-C. NAME must be registered already, and its place stays: the next time prints these commits again.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let name = arguments.positional.count > 1 ? arguments.positional[1] : "watch"
    let forgets = arguments.has("--forget")
    if !forgets, StoreAccess.hasWriter(arguments.positional[0]) { return try follow(name, arguments) }
    let outcome: Result<Void, CommandFailure> = try StoreAccess.withStore(arguments.positional[0]) {
      store throws(DocumentStoreError) in
      let isGiven = arguments.positional.count > 1
      if let refusal = try refusal(of: name, forgets: forgets, isGiven: isGiven, store: store) {
        return .failure(refusal)
      }
      let (seen, consumer) = try readFeed(at: store, name, forgets: forgets)
      // If printing fails, the program ends here, before the acknowledgement. The next run then prints the
      // same commits again.
      arguments.answer(text(seen, name), object(seen, name))
      if let consumer { try consumer.acknowledge(consumer.position) }
      return .success(())
    }
    try outcome.get()
  }

  // MARK: Beside a writer

  private static let secondsBetweenLooks = 0.25

  /// Prints the commits that the registered reader `name` has not acknowledged, and then those that the
  /// writer makes, until the command is interrupted.
  private static func follow(_ name: String, _ arguments: Arguments) throws {
    let interruption = Interruption(by: [SIGINT, SIGTERM], waits: false)
    let outcome: Result<Void, CommandFailure> = try StoreAccess.withStore(
      arguments.positional[0], readOnly: true
    ) { store throws(DocumentStoreError) in
      guard store.feedConsumers.contains(name) else { return .failure(unregistered(name, store)) }
      var (seen, consumer) = try readFeed(at: store, name, forgets: false)
      while let reader = consumer, !interruption.isSignaled {
        if !seen.commits.isEmpty || seen.isTruncated {
          ShownSnapshot.note(store)
          arguments.answer(text(seen, name), object(seen, name))
        }
        Thread.sleep(forTimeInterval: secondsBetweenLooks)
        try store.refresh()
        (seen, consumer) = (try readFeed(with: reader), reader)
      }
      return .success(())
    }
    try outcome.get()
  }

  private static func unregistered(_ name: String, _ store: DocumentStore) -> CommandFailure {
    let known = store.feedConsumers
    let names = known.isEmpty ? "The feed has no readers." : "Readers are \(known.joined(separator: ", "))."
    return CommandFailure(
      code: .unavailable,
      message: "\(store.path) is open for writing elsewhere, so \(name) cannot be registered as a reader of "
        + "the change feed now. \(names) Run this once while no app has the store open, or register it in the app "
        + "with registerConsumer(_:).")
  }

  /// Returns an error if no reader has this name and the command needs one, or if the name is a query.
  /// Returns nil otherwise. A registered reader may have any name.
  private static func refusal(
    of name: String, forgets: Bool, isGiven: Bool, store: DocumentStore
  ) throws(DocumentStoreError) -> CommandFailure? {
    let known = store.feedConsumers
    guard !known.contains(name) else { return nil }
    guard !forgets else {
      let names = known.isEmpty ? "The feed has no readers." : "Readers are \(known.joined(separator: ", "))."
      return CommandFailure(code: .checkFailed, message: "nothing is kept for \(name). \(names)")
    }
    guard isGiven, try isQuery(name, store) else { return nil }
    return CommandFailure(
      code: .usage,
      message: "\"\(name)\" is a collection or a query, and NAME is the name of a reader of the change "
        + "feed. Live queries are in \"dugout shell\": watch \(name)")
  }

  private static func isQuery(_ name: String, _ store: DocumentStore) throws(DocumentStoreError) -> Bool {
    if name.contains(where: \.isWhitespace) { return true }
    guard let segments = try? PathText.segments(name), let path = try? CollectionPath(segments) else {
      return false
    }
    return try store.collectionGroups().contains { $0.isSameUTF8(as: path.id) }
  }

  private struct FeedReading {
    var isNew: Bool
    var isForgotten = false
    /// Whether older commits are no longer in the feed.
    var isTruncated = false
    var commits: [FeedCommit] = []
  }

  private static func readFeed(
    at store: DocumentStore, _ name: String, forgets: Bool
  ) throws(DocumentStoreError) -> (FeedReading, FeedConsumer?) {
    var seen = FeedReading(isNew: !store.feedConsumers.contains(name))
    if forgets {
      try store.feedConsumer(name).unregister()
      seen.isForgotten = true
      return (seen, nil)
    }
    let consumer = try store.feedConsumer(name)
    let isNew = seen.isNew
    seen = try readFeed(with: consumer)
    seen.isNew = isNew
    return (seen, consumer)
  }

  /// Reads everything after the position of a consumer.
  private static func readFeed(with consumer: FeedConsumer) throws(DocumentStoreError) -> FeedReading {
    var seen = FeedReading(isNew: false)
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
    return seen
  }

  // MARK: Answers

  private static func text(_ seen: FeedReading, _ name: String) -> String {
    if seen.isForgotten { return "Nothing is kept for \(name) any more." }
    if seen.isNew { return "From now on, commits are kept for \(name). Run this again after some." }
    var lines = seen.isTruncated ? ["Older commits are not kept any more."] : []
    if seen.commits.isEmpty { lines.append("Nothing was committed since the last time.") }
    for commit in seen.commits {
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

  private static func object(_ seen: FeedReading, _ name: String) -> JSON {
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

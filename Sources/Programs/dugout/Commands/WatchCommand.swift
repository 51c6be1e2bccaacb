// dugout watch DIR [NAME]: prints the commits since the last run for NAME, and with --follow the later ones.

import DocumentStore
import Foundation

enum WatchCommand: Command {
  static let name = "watch"
  static let summary = "Prints what was committed since the last time, or each commit"
  static let usage = "DIR [NAME] [--follow] [--forget] [--json]"
  static let options = [
    (option: "--follow", meaning: "Go on: print each commit as it is made, until Ctrl-C"),
    (option: "--forget", meaning: "Stop keeping commits for NAME"),
    (
      option: Arguments.json,
      meaning: "One JSON object with all commits and the type of every value; with --follow, more of them"
    ),
  ]
  static let positional = 1...2
  static let shellForm = ShellForm.none
  static let notes = [
    "The first time, NAME is registered as a reader of the change feed: from then on a store keeps what is committed",
    "until NAME has seen it, for seven days at most. Without a name it is \"watch\". Live queries are in \"dugout shell\".",
    "The numbers count what the feed has kept, and not all commits, as those of \"dugout stat\" do.",
    "What could not be printed is kept for the next time. --forget of an unknown NAME lists the known ones.",
    "",
    "--follow does not keep an app from opening the store and writing to it. While an app has the store open, NAME must",
    "be registered already, and its place stays: the next time prints these commits again. When Ctrl-C ends --follow and",
    "no app has the store open, the place moves to the last commit that was printed.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let name = arguments.positional.count > 1 ? arguments.positional[1] : "watch"
    let follows = arguments.has("--follow")
    guard !arguments.has("--forget") else {
      guard !follows else {
        throw CommandFailure(code: .usage, message: "--follow needs the commits that --forget stops keeping.")
      }
      return try forget(name, arguments)
    }
    let hasWriter = StoreAccess.hasWriter(arguments.positional[0])
    if !hasWriter { try printAndAcknowledge(name, arguments) }
    if follows {
      try follow(name, arguments, startsWithUnseen: hasWriter)
    } else if hasWriter {
      try printUnseen(name, arguments)
    }
  }

  /// Prints the first reading. The first line says what the command does and when it ends.
  private static func printFirst(
    _ seen: FeedReading, _ name: String, besideWriter: Bool, arguments: Arguments
  ) {
    arguments.answer(
      "\(intention(seen, name, besideWriter: besideWriter, follows: arguments.has("--follow")))\n\(seen.text(name))",
      seen.object(name))
  }

  private static func intention(
    _ seen: FeedReading, _ name: String, besideWriter: Bool, follows: Bool
  ) -> String {
    guard !seen.isNew else {
      return follows
        ? "Each commit as it is made, until Ctrl-C."
        : "Commits since the last run for \(name), which is this first one: nothing to print yet."
    }
    let end =
      follows
      ? "and then each one as it is made, until Ctrl-C." : "and no later ones: --follow waits for them."
    let place =
      besideWriter ? "\nThe place of \(name) stays, because the store is open for writing elsewhere." : ""
    return "Commits since the last time for \(name), \(end)\(place)"
  }

  private static func forget(_ name: String, _ arguments: Arguments) throws {
    let outcome: Result<Void, CommandFailure> = try StoreAccess.withStore(arguments.positional[0]) {
      store throws(DocumentStoreError) in
      guard store.feedConsumers.contains(name) else {
        return .failure(
          CommandFailure(
            code: .checkFailed, message: "nothing is kept for \(name). \(readers(of: store))"))
      }
      try store.feedConsumer(name).unregister()
      return .success(())
    }
    try outcome.get()
    arguments.answer(FeedReading.forgotten.text(name), FeedReading.forgotten.object(name))
  }

  private static func printAndAcknowledge(_ name: String, _ arguments: Arguments) throws {
    let outcome: Result<Void, CommandFailure> = try StoreAccess.withStore(arguments.positional[0]) {
      store throws(DocumentStoreError) in
      if arguments.positional.count > 1, let refusal = try refusal(of: name, store) {
        return .failure(refusal)
      }
      let (seen, consumer) = try FeedReading.of(name, in: store)
      // If printing fails, the program ends here, before the acknowledgement. The next run then prints the
      // same commits again.
      printFirst(seen, name, besideWriter: false, arguments: arguments)
      try consumer.acknowledge(consumer.position)
      return .success(())
    }
    try outcome.get()
  }

  // MARK: Without writing

  private static func printUnseen(_ name: String, _ arguments: Arguments) throws {
    let seen = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) -> Result<FeedReading, CommandFailure> in
      guard store.feedConsumers.contains(name) else { return .failure(unregistered(name, store)) }
      return .success(try FeedReading.of(name, in: store).0)
    }.get()
    printFirst(seen, name, besideWriter: true, arguments: arguments)
  }

  private static let secondsBetweenLooks = 0.25

  /// Prints the commits that the registered reader `name` has not acknowledged, and then those that a writer
  /// makes, until the command is interrupted.
  private static func follow(_ name: String, _ arguments: Arguments, startsWithUnseen: Bool) throws {
    let interruption = Interruption(by: [SIGINT, SIGTERM], waits: false)
    let (start, end) = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) -> Result<(FeedPosition, FeedPosition), CommandFailure> in
      guard store.feedConsumers.contains(name) else { return .failure(unregistered(name, store)) }
      let consumer = try store.feedConsumer(name)
      let start = consumer.position
      var isFirst = startsWithUnseen
      while !interruption.isSignaled {
        let seen = try FeedReading(with: consumer)
        if isFirst || !seen.isEmpty { ShownSnapshot.note(store) }
        if isFirst {
          printFirst(seen, name, besideWriter: true, arguments: arguments)
        } else if !seen.isEmpty {
          arguments.answer(seen.text(name), seen.object(name))
        }
        isFirst = false
        Thread.sleep(forTimeInterval: secondsBetweenLooks)
        try store.refresh()
      }
      return .success((start, consumer.position))
    }.get()
    if end != start { acknowledge(end, of: name, in: arguments.positional[0]) }
  }

  /// Moves the place of the reader, unless another process writes the store.
  private static func acknowledge(_ position: FeedPosition, of name: String, in directory: String) {
    do {
      try StoreAccess.withStore(directory) { store throws(DocumentStoreError) in
        guard store.feedConsumers.contains(name) else { return }
        try store.feedConsumer(name).acknowledge(position)
      }
    } catch {
      Terminal.printToStandardError(
        "The place of \(name) stays: the next \"dugout watch\" prints these commits again.")
    }
  }

  // MARK: Refusals

  private static func readers(of store: DocumentStore) -> String {
    let known = store.feedConsumers
    return known.isEmpty ? "The feed has no readers." : "Readers are \(known.joined(separator: ", "))."
  }

  private static func unregistered(_ name: String, _ store: DocumentStore) -> CommandFailure {
    CommandFailure(
      code: .unavailable,
      message: "\(store.path) is open for writing elsewhere, so \(name) cannot be registered as a reader of "
        + "the change feed now. \(readers(of: store)) Run this once while no app has the store open, or register it in the app "
        + "with registerConsumer(_:).")
  }

  /// Returns an error if the name of a reader that is not registered is a query; otherwise nil.
  private static func refusal(
    of name: String, _ store: DocumentStore
  ) throws(DocumentStoreError) -> CommandFailure? {
    guard !store.feedConsumers.contains(name), try isQuery(name, store) else { return nil }
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
}

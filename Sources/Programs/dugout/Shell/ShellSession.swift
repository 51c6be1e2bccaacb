// A session of the shell: an open store, the commands of the table, and live queries.

import ByteStore
import DocumentStore
import Foundation

final class ShellSession {
  enum Next { case nextLine, ends }

  /// The commands that only a session has, in addition to the command table.
  private static let own: [(usage: String, meaning: String)] = [
    ("watch QUERY", "Prints what a query finds, and then every change of it, as it is committed"),
    ("watch", "Lists the queries that are watched"),
    ("unwatch [N]", "Ends number N, or all of them"),
    ("help [COMMAND]", "Lists the commands, or describes one"),
    ("exit", "Ends the session, as Ctrl-D does"),
  ]

  static let commands = Dugout.commands.filter { command in
    if case .none = command.shellForm { false } else { true }
  }

  static var names: [String] {
    (commands.map { $0.name } + ["watch", "unwatch", "help", "exit"]).sorted()
  }

  static func command(_ name: String) -> (any Command.Type)? { commands.first { $0.name == name } }

  private let store: DocumentStore
  private let directory: String
  private let watches: ShellWatches

  init(_ store: DocumentStore, _ directory: String, _ announce: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.directory = directory
    watches = ShellWatches(store, announce)
  }

  /// Runs a line. Returns when all output that it causes has been printed.
  func run(_ text: String) async throws -> Next {
    guard let line = try ShellLine(text) else { return .nextLine }
    defer { watches.wait() }
    switch line.command {
    case "exit", "quit": return .ends
    case "help": try help(line.words.first?.value)
    case "watch": try watch(line)
    case "unwatch": try unwatch(line.words.first?.value)
    default: try await run(line)
    }
    return .nextLine
  }

  func end() { watches.removeAll() }

  private func run(_ line: ShellLine) async throws {
    guard let command = Self.command(line.command) else {
      let outside = Dugout.commands.contains { $0.name == line.command }
      throw CommandFailure(
        code: .usage,
        message: "there is no command \"\(line.command)\" here. "
          + (outside ? "End the shell, and run dugout \(line.command)." : "\"help\" lists them."))
    }
    if line.words.contains(where: { $0.raw == "--help" }) { return try help(command.name) }
    let arguments = line.arguments(of: command, in: directory) ?? []
    do {
      let arguments = try Arguments(arguments, of: command)
      let isSilenced = CreationNotice.isSilenced || arguments.has(CreationNotice.option.option)
      try await CreationNotice.$isSilenced.withValue(isSilenced) {
        try await StoreAccess.$session.withValue(store) { try await command.run(arguments) }
      }
    } catch var failure as CommandFailure {
      // Replaces the usage in the error by the shell's form.
      failure.message.replace(Help.usage(command), with: "\(command.name) \(Self.usage(of: command))")
      throw failure
    }
  }

  private func help(_ name: String?) throws {
    guard let name else { return Terminal.print(Self.overview(width: Terminal.helpWidth)) }
    if let topic = HelpTopic(rawValue: name) { return Terminal.print(topic.page()) }
    if let own = Self.own.first(where: { $0.usage.split(separator: " ")[0] == name }) {
      return Terminal.print("\(own.usage)\n\(own.meaning)")
    }
    guard let command = Self.command(name) else {
      throw CommandFailure(code: .usage, message: "there is no command \"\(name)\" here.")
    }
    Terminal.print(Self.page(command, width: Terminal.helpWidth))
  }

  static func page(_ command: any Command.Type, width: Int) -> String {
    Help.page(command, usage: "\(command.name) \(usage(of: command))", width: width, note)
  }

  /// Formats the commands of the shell.
  static func overview(width: Int) -> String {
    let rows = commands.map { ($0.name, $0.summary) } + own.map { ($0.usage, $0.meaning) }
    let column = 2 + (rows.map(\.0.count).max() ?? 0)
    let lines = rows.flatMap { name, meaning in
      FilledText.wrapped(meaning, width: width, start: name.filled(toColumns: column), indent: column)
    }
    return lines.joined(separator: "\n")
  }

  /// Converts an example to a line of the shell: without program, directory and quotes.
  private static func note(_ note: String) -> String {
    guard note.hasPrefix("  dugout ") else { return note }
    return "  "
      + note.dropFirst(9).replacing(" data ", with: " ", maxReplacements: 1).replacing("'", with: "")
  }

  /// The usage without the directory.
  private static func usage(of command: any Command.Type) -> String {
    command.fullUsage.replacing("DIR ", with: "").replacing(" DIR", with: "").replacing("DIR", with: "")
  }

  // MARK: Live queries

  private func watch(_ line: ShellLine) throws {
    let text = ShellLine.text(of: line.words)
    guard !text.isEmpty else {
      let lines = watches.list.map { "[\($0.number)] \($0.query)" }
      return Terminal.print(lines.isEmpty ? "nothing is watched" : lines.joined(separator: "\n"))
    }
    let query = try QueryText.query(text)
    try StoreAccess.translating { () throws(DocumentStoreError) in try watches.add(query, text) }
  }

  private func unwatch(_ number: String?) throws {
    guard let number else { return watches.removeAll() }
    guard let number = Int(number), watches.remove(number) else {
      throw CommandFailure(code: .usage, message: "nothing is watched under \(number).")
    }
  }
}

/// The live queries of a session, by number.
private final class ShellWatches {
  private static let rowsMax = 20

  private let store: DocumentStore
  private let announce: @Sendable (String) -> Void
  private let queue = DispatchQueue(label: "dugout.shell")
  private var entries: [(number: Int, query: String, registration: LiveRegistration)] = []
  private var lastNumber = 0

  init(_ store: DocumentStore, _ announce: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.announce = announce
  }

  var list: [(number: Int, query: String)] { entries.map { ($0.number, $0.query) } }

  func add(_ query: StructuredQuery, _ text: String) throws(DocumentStoreError) {
    lastNumber += 1
    let (number, announce) = (lastNumber, announce)
    let registration = try store.listen(to: query, on: queue) { result in
      switch result {
      case .success(let snapshot): announce(Self.text(of: snapshot, number))
      case .failure(let error): announce("[\(number)] ended: \(error)")
      }
    }
    entries.append((number, text, registration))
  }

  func remove(_ number: Int) -> Bool {
    guard let place = entries.firstIndex(where: { $0.number == number }) else { return false }
    entries.remove(at: place).registration.remove()
    return true
  }

  func removeAll() {
    for entry in entries { entry.registration.remove() }
    entries = []
  }

  /// Blocks until all commits so far have been printed.
  func wait() {
    store.waitForFollowing()
    queue.sync {}
  }

  private static func text(of snapshot: LiveSnapshot, _ number: Int) -> String {
    let count = Wording.count(snapshot.documents.count, "document")
    guard !snapshot.isFirst else {
      let rest = snapshot.documents.count - rowsMax
      let rows = snapshot.documents.prefix(rowsMax).map { "    " + line($0) }
      return (["[\(number)] \(count)"] + rows + (rest > 0 ? ["    and \(rest) more"] : [])).joined(
        separator: "\n")
    }
    let changes = snapshot.changes.map { change in
      switch change.kind {
      case .added: "  + " + line(change.document)
      case .modified: "  ~ " + line(change.document)
      case .removed: "  - \(PathText.printed(change.document.path.segments))"
      }
    }
    return (["[\(number)] \(count) now"] + changes).joined(separator: "\n")
  }

  private static func line(_ document: StoredDocument) -> String {
    let fields = document.fields.entries.prefix(6).map {
      "\(ShownText.escaped($0.name)): \(DocumentText.cell(of: $0.value))"
    }
    let path = PathText.printed(document.path.segments)
    let text = "\(path)  \(fields.joined(separator: "  "))"
    return text.count <= 160 ? text : text.prefix(159) + "…"
  }
}

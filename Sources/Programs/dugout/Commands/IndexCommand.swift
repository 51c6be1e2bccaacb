// dugout index list|create|drop DIR …: manages the indexes of a store.

import DocumentStore

enum IndexCommand: Command {
  static let name = "index"
  static let summary = "Lists, creates and drops indexes"
  static let usage = "list DIR | create DIR COLLECTION FIELD… | drop DIR COLLECTION FIELD… [--group] [--json]"
  static let options = [
    (option: "--group", meaning: "Over all collections with the id"),
    (option: Arguments.json, meaning: "One JSON object"),
  ]
  static let positional = 2...100
  static let shellForm = ShellForm.words(directoryAt: 1)
  static let notes = [
    "COLLECTION is the id of a collection. A FIELD ends with :desc where the order is descending, or with [] for the",
    "elements of an array; a name with a colon needs backticks. One ascending field serves both",
    "directions. Queries create the indexes that they need; an index created here is kept until it is dropped.",
    "",
    "  dugout index create data users city age:desc",
  ]

  static func run(_ arguments: Arguments) async throws {
    let words = arguments.positional
    switch (words[0], words.count) {
    case ("list", 2): try list(words[1], arguments)
    case ("create", 4...): try create(words[1], try definition(words, arguments), arguments: arguments)
    case ("drop", 4...): try drop(words[1], try definition(words, arguments), arguments: arguments)
    default: throw CommandFailure(code: .usage, message: "usage: \(Help.usage(Self.self))")
    }
  }

  private static func definition(_ words: [String], _ arguments: Arguments) throws -> IndexDefinition {
    let names = try PathArgument.segments(words[2])
    guard names.count == 1 else {
      throw CommandFailure(
        code: .usage,
        message: "\(words[2]) is a path. An index is for all collections with an id, such as posts for "
          + "users/ada/posts.")
    }
    do {
      var fields = try words[3...].map(field)
      // `index list` prints a final document id for an index that a query created, if the query ordered the
      // id against the direction of the last field.
      var direction: OrderBy.Direction?
      if fields.count > 1, let last = fields.last, last.path == .documentID {
        direction = last.part == .value(.descending) ? .descending : .ascending
        fields.removeLast()
      }
      return try IndexDefinition(
        names[0], arguments.has("--group") ? .collectionGroup : .collection, fields,
        names: direction)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(code: .usage, message: "\(error)")
    }
  }

  private static func field(_ word: String) throws -> IndexDefinition.Field {
    if word.hasSuffix("[]") {
      return IndexDefinition.Field(try QueryText.field(String(word.dropLast(2))), .element)
    }
    guard let colon = word.lastIndex(of: ":"), !word[colon...].contains("`") else {
      return IndexDefinition.Field(try QueryText.field(word))
    }
    let field = try QueryText.field(String(word[..<colon]))
    switch word[word.index(after: colon)...] {
    case "desc": return IndexDefinition.Field(field, .value(.descending))
    case "asc": return IndexDefinition.Field(field)
    case let other:
      throw CommandFailure(
        code: .usage,
        message:
          "there is no direction \(other): \(word) ends with :desc, :asc or [], or is in backticks.")
    }
  }

  private static func list(_ directory: String, _ arguments: Arguments) throws {
    let indexes = try StoreAccess.withStore(directory, readOnly: true) { $0.indexList }
    let lines = indexes.map { index in
      text(index.definition) + "  "
        + (index.isLost
          ? "lost: the next query of an app rebuilds it, and so does \"dugout index create\""
          : Wording.count(index.entries, "entry", plural: "entries"))
        + (index.isAutomatic ? ", created for a query" : "")
    }
    arguments.answer(
      lines.isEmpty ? "no indexes except that of the names" : lines.joined(separator: "\n"),
      ["indexes": indexes.map(object)])
  }

  private static func create(
    _ directory: String, _ definition: IndexDefinition, arguments: Arguments
  ) throws {
    do { _ = try CollectionPath([definition.collectionID]) } catch {
      throw CommandFailure(code: .usage, message: error.description)
    }
    // Drop skips this check, because earlier releases may have created such indexes.
    let values = definition.fields.filter { $0.part != .element }.map(\.path)
    if let twice = values.indices.first(where: { values[..<$0].contains(values[$0]) }) {
      throw CommandFailure(
        code: .usage,
        message: "\(values[twice]) appears twice, and an index has each field once: a second time it orders "
          + "nothing.")
    }
    let (created, isUnwritten) = try ProgressLine.during { line in
      try StoreAccess.withStore(directory) { store throws(DocumentStoreError) in
        try store.createIndex(definition) { progress in
          line.show(
            UInt64(progress.fraction * 100), of: 100, what: progress.step == .reading ? "reading" : "sorting")
          return true
        }
        // Writes the index to disk, so that the next open loads it.
        try store.compact()
        return (store.indexList.first { $0.definition == definition }, store.areIndexesUnwritten)
      }
    }
    guard !isUnwritten else {
      throw CommandFailure(
        code: .inputOutput,
        message:
          "\(directory): the disk is full, and the index could not be written. Free some space, and run the same "
          + "command again.")
    }
    arguments.answer(
      "\(text(definition)) has \(Wording.count(created?.entries ?? 0, "entry", plural: "entries")).",
      created.map(object) ?? [:])
  }

  private static func drop(
    _ directory: String, _ definition: IndexDefinition, arguments: Arguments
  ) throws {
    let wasThere = try StoreAccess.withStore(directory) { store throws(DocumentStoreError) in
      let wasThere = store.dropIndex(definition)
      if wasThere { try store.compact() }
      return wasThere
    }
    guard wasThere else {
      throw CommandFailure(
        code: .checkFailed,
        message: "there is no index \(text(definition)). \"dugout index list\" has them.")
    }
    arguments.answer("\(text(definition)) is gone.", ["dropped": definition.description])
  }

  private static func object(_ index: IndexInfo) -> JSON {
    [
      "index": index.definition.description, "entries": index.entries, "automatic": index.isAutomatic,
      "lost": index.isLost,
    ]
  }

  static func text(_ definition: IndexDefinition) -> String { ShownText.escaped("\(definition)") }

  // MARK: As a command

  /// Returns the shell command that creates the index; nil for an index that only queries create.
  static func command(_ definition: IndexDefinition, in directory: String) -> String? {
    guard let fields = words(of: definition.fields) else { return nil }
    let words = [directory, PathText.quoted(definition.collectionID)] + fields
    let end = definition.scope == .collectionGroup ? " --group" : ""
    return "dugout index create " + words.map(ShellWord.quoted).joined(separator: " ") + end
  }

  /// Returns the fields in the form in which a user declares them; `IndexDefinition` documents the stored
  /// form.
  private static func words(of fields: [IndexDefinition.Field]) -> [String]? {
    var named: [(name: String, direction: OrderBy.Direction?)] = []
    for field in fields {
      switch field.part {
      case .value(let direction): named.append((field.path.canonical, direction))
      case .element: named.append((field.path.canonical + "[]", nil))
      case .valueOrNull: return nil
      }
    }
    let directions = named.compactMap { $0.direction }
    let hasDescendingNames = directions.last == .descending
    let isReversed = !hasDescendingNames && directions.first == .descending
    let words = named.map { field in
      guard let direction = field.direction, (direction == .descending) != isReversed else {
        return field.name
      }
      return field.name + ":desc"
    }
    return hasDescendingNames ? words + ["__name__"] : words
  }
}

// dugout set DIR PATH FIELDS: writes a document, or changes some of its fields.

import DocumentStore
import Foundation

enum SetCommand: Command {
  static let name = "set"
  static let summary = "Writes a document, or changes some of its fields"
  static let usage = "DIR PATH [FIELDS] [--merge] [--delete FIELD…] [--increment FIELD=N…] [--json]"
  static let options = [
    (option: "--merge", meaning: "Keep the fields that are not named"),
    (option: "--delete FIELD…", meaning: "Remove a field, as part of a merge; once for each field"),
    (
      option: "--increment FIELD=N…",
      meaning: "Add a number to a field, as part of a merge; once for each field"
    ),
    (option: Arguments.json, meaning: "One JSON object with the path and the time of the commit"),
  ]
  static let positional = 2...3
  static let shellForm = ShellForm.text(wordsBefore: 1)
  static let notes = [
    "FIELDS is JSON, or - to read it from standard input. Names need no quotes, and those that are not letters, digits",
    "and underscores need quotes or backticks: {`a b`: 1}. In addition to the values of JSON there are",
    "timestamp(\"2026-03-01T12:00:00Z\"), bytes(\"AQID\"), ref(\"users/ada\"), geo(48.1, 11.6), vector(1, 2), nan and",
    "infinity. A number without a point is an integer. The store is created if DIR has none. In PATH, names may",
    "be quoted with backticks.",
    "",
    "With --delete or --increment, FIELDS can be left out, and all of it is one commit that leaves the rest of the",
    "document alone. A FIELD inside a map is address.city, and other names need backticks. N may be negative; a",
    "field that is missing, or not a number, becomes N. A missing document is created, as by Firestore's merge;",
    "--delete alone creates none and ends with code 1, as its update does.",
    "",
    "  dugout set data users/ada '{name: \"Ada\", born: timestamp(\"1815-12-10T00:00:00Z\"), languages: [\"en\", \"fr\"]}'",
    "  dugout set data users/ada --increment visits=1 --delete address.city",
  ]

  static func run(_ arguments: Arguments) async throws {
    let path = try PathArgument.document(arguments.positional[1])
    let change = try Change(arguments)
    let mutation = change.mutation(of: path)
    let directory = arguments.positional[0]
    let isNew = StoreAccess.session == nil && !StoreFinder.isStore(directory)
    let time = try StoreAccess.withStore(directory, creates: change.createsDocument, writesDocuments: true) {
      store throws(DocumentStoreError) in
      do throws(DocumentStoreError) {
        return try store.commit([mutation])
      } catch {
        guard case .notFound = error else { throw error }
        throw .notFound(
          "there is no document \(PathText.printed(path.segments)) of which a field could be removed. Nothing was "
            + "written.")
      }
    }
    let at = DocumentText.text(of: time)
    arguments.answer(
      "\(PathText.printed(path.segments)) was written at \(at).",
      ["path": path.description, "updateTime": at, "newStore": isNew])
  }
}

/// The change to a document that the arguments describe.
private struct Change {
  private let fields: StoredMap?
  private let deletions: [StoredFieldPath]
  private let increments: [FieldTransform]
  private let merges: Bool

  init(_ arguments: Arguments) throws {
    deletions = try arguments.fields(of: "--delete")
    increments = try arguments.increments(of: "--increment")
    let isPart = !deletions.isEmpty || !increments.isEmpty
    merges = arguments.has("--merge") || isPart
    fields =
      arguments.positional.count > 2 ? try Self.fields(arguments.positional[2], isAlone: !isPart) : nil
    guard fields != nil || isPart else {
      throw CommandFailure(code: .usage, message: "usage: \(Help.usage(SetCommand.self))")
    }
    try checkOverlap()
  }

  private static func fields(_ argument: String, isAlone: Bool) throws -> StoredMap {
    var text = argument
    if text == "-" {
      text = try ProgramArguments.text(
        FileHandle.standardInput.readDataToEndOfFile(), of: "standard input", code: .badData)
    }
    // An error about the value itself would not help a user who does not know that an object is expected.
    guard text.first(where: { !$0.isWhitespace }) == "{", case .map(let fields) = try QueryText.value(text)
    else {
      let hint = isAlone ? "" : " Each further field to remove or to add to needs its own option."
      throw CommandFailure(
        code: .usage, message: "the fields of a document look like {name: \"Ada\", age: 36}.\(hint)")
    }
    return fields
  }

  /// Refuses fields that are named twice, because the result would be ambiguous.
  private func checkOverlap() throws {
    guard !deletions.isEmpty || !increments.isEmpty else { return }
    let set = fields.map { FieldMask(leavesOf: $0).paths } ?? []
    let all = (set + deletions + increments.map(\.field)).sorted()
    for (outer, inner) in zip(all, all.dropFirst()) where outer.isPrefix(of: inner) {
      let twice = outer == inner ? "\(outer) is named twice" : "\(inner) lies in \(outer), and both are named"
      throw CommandFailure(code: .usage, message: "\(twice): name each field once. Nothing was written.")
    }
  }

  /// Whether the change may create a document or a store. Without FIELDS and increments, both must exist,
  /// because a name may be mistyped.
  var createsDocument: Bool { fields != nil || !increments.isEmpty }

  func mutation(of path: DocumentPath) -> Mutation {
    guard createsDocument else {
      return .patch(path, StoredMap(), mask: FieldMask(deletions), precondition: .exists(true))
    }
    let fields = fields ?? StoredMap()
    return merges ? .merge(path, fields, deletions: deletions, transforms: increments) : .set(path, fields)
  }
}

// dugout query DIR QUERY prints the results of a query; dugout explain prints its plan.

import DocumentStore
import Foundation

enum QueryCommand: Command {
  static let name = "query"
  static let summary = "Prints what a query finds"
  static let usage = "DIR QUERY [--count] [--sum FIELD…] [--average FIELD…] [--json]"
  static let options = [
    (option: "--count", meaning: "Only how many documents there are"),
    (option: "--sum FIELD…", meaning: "Only the sum of a field; once for each field"),
    (option: "--average FIELD…", meaning: "Only the average of a field; once for each field"),
    (option: Arguments.json, meaning: "One JSON object with all fields and the type of every value"),
  ]
  static let positional = 2...2
  static let notes =
    language
    + [
      "",
      "With --sum or --average, a document without one of these fields is not counted, not even by --count. There",
      "are five results at most.",
      "", example, exampleOfGroup + " --count",
    ]
  static let shellForm = ShellForm.text(wordsBefore: 0)

  static let language = [
    "A query is a collection, or \"group\" and the id of one, and then, all optional:",
    "  where FIELD == VALUE      also != < <= > >=, in [..], not in [..], contains VALUE, contains any [..];",
    "                            joined by and, or, and brackets",
    "  order by FIELD [desc], …",
    "  start at|after VALUE, …   end at|before VALUE, …",
    "  limit [last] N",
    "Backticks quote fields that are not letters, digits and underscores, and names of paths with blanks. The field",
    "__name__ is the id of a document, where __name__ >= \"a\", and with \"group\" its path, such as \"users/ada/posts/1\".",
    "Values are those of JSON, and timestamp(\"…\"), bytes(\"…\"), ref(\"…\"), geo(…), vector(…), nan, infinity.",
  ]

  private static let example =
    "  dugout query data 'users where age >= 18 and (city == \"Paris\" or tags contains \"vip\") order by age desc limit 20'"
  private static let exampleOfGroup =
    "  dugout query data 'group messages where sent > timestamp(\"2026-01-01T00:00:00Z\")'"

  /// Returns the examples for another command that takes queries.
  static func examples(of command: String) -> [String] {
    [example, exampleOfGroup].map { $0.replacing("dugout query", with: "dugout \(command)") }
  }

  static func run(_ arguments: Arguments) async throws {
    let query = try QueryText.query(arguments.positional[1])
    let aggregates = try aggregates(arguments)
    guard aggregates.isEmpty else {
      let values = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
        store throws(DocumentStoreError) in
        try store.aggregate(aggregates, over: query)
      }
      let lines = zip(aggregates, values).map {
        "\(ShownText.escaped($0.alias))  \(DocumentText.cell(of: $1))"
      }
      let members = zip(aggregates, values).map {
        JSON.Member(name: $0.alias, value: DocumentJSON.object(of: $1))
      }
      return arguments.answer(lines.joined(separator: "\n"), .object(members))
    }
    let start = ContinuousClock.now
    let (documents, remark, built) = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) in
      let before = Set(store.indexList.map(\.definition))
      let documents = try store.documents(query)
      let built = store.indexList.map(\.definition).first { !before.contains($0) }
      return (documents, documents.isEmpty ? try Self.hint(query, store) : nil, built)
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    var isGroup = false
    if case .collectionGroup = query.scope { isGroup = true }
    arguments.answer(
      DocumentTable.text(of: documents, fullPaths: isGroup) + (remark.map { "; " + $0 } ?? ""),
      ["documents": documents.map { document in DocumentJSON.object(of: document) }])
    // In the shell, no advice is needed: the index stays in memory as long as the store is open.
    guard let built, StoreAccess.session == nil, isatty(STDERR_FILENO) == 1 else { return }
    if let advice = advice(afterSeconds: seconds, making: built, in: arguments.positional[0]) {
      Terminal.printToStandardError(advice)
    }
  }

  /// Returns nil if the query was fast.
  static func advice(
    afterSeconds seconds: Double, making index: IndexDefinition, in directory: String
  ) -> String? {
    guard seconds >= 2, let command = IndexCommand.command(index, in: directory) else { return nil }
    let time = Wording.duration(seconds: seconds)
    return "This took \(time) and built a temporary index. To keep it:\n  \(command)"
  }

  /// Returns a hint if the collection does not exist, because its name may be mistyped.
  static func hint(_ query: StructuredQuery, _ store: DocumentStore) throws(DocumentStoreError) -> String? {
    let id: String
    switch query.scope {
    case .collection(let path): id = path.id
    case .collectionGroup(let name): id = name
    case .document: return nil
    }
    let groups = try store.collectionGroups().filter(PathArgument.isCollectionID)
    if groups.contains(where: { $0.isSameUTF8(as: id) }) { return try hintAboutSameID(query, store) }
    guard !groups.isEmpty else { return nil }
    let near = groups.sorted().first { Wording.areOneTypoApart($0, id) }
    let guess =
      near.map { "Did you mean \(PathText.printed([$0]))?" } ?? "\"dugout ls\" lists those that exist."
    return "there is no collection \(id). \(guess)"
  }

  /// Returns a hint if the collection is empty and another collection with the same id is not empty.
  private static func hintAboutSameID(
    _ query: StructuredQuery, _ store: DocumentStore
  ) throws(DocumentStoreError) -> String? {
    guard case .collection(let path) = query.scope, try store.count(StructuredQuery(.collection(path))) == 0,
      let other = try store.documents(StructuredQuery(.collectionGroup(path.id)).limited(to: .first(1))).first
    else { return nil }
    let names = [path, other.path.parent].map { PathText.printed($0.segments) }
    return "there is no collection \(names[0]), but there is \(names[1]). "
      + "\"group \(PathText.quoted(path.id))\" queries all collections with that id."
  }

  private static func aggregates(_ arguments: Arguments) throws -> [Aggregate] {
    let sums = try arguments.fields(of: "--sum").map { Aggregate.sum($0) }
    let averages = try arguments.fields(of: "--average").map { Aggregate.average($0) }
    // A repeated aggregate is computed once.
    var named = Set<Aggregate>()
    return ((arguments.has("--count") ? [.count] : []) + sums + averages).filter { named.insert($0).inserted }
  }
}

enum ExplainCommand: Command {
  static let name = "explain"
  static let summary = "Explains how a query is answered, and what that costs"
  static let usage = "DIR QUERY [--json]"
  static let options = [(option: Arguments.json, meaning: "One JSON object")]
  static let positional = 2...2
  static let notes =
    [
      "The query is executed. An index that it needs is built in memory, and nothing is written. Below each step are",
      "the steps whose results it uses.", "",
    ]
    + QueryCommand.language + [""] + QueryCommand.examples(of: name)
  static let shellForm = ShellForm.text(wordsBefore: 0)

  static func run(_ arguments: Arguments) async throws {
    let query = try QueryText.query(arguments.positional[1])
    let plan = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) in
      try store.explain(query)
    }
    arguments.answer(text(plan), object(plan))
  }

  /// Formats the plan as a tree: each step, and below it the steps that it reads.
  private static func text(_ plan: QueryExplanation) -> String {
    var steps = plan.branchTexts.map { Step($0) }
    if steps.isEmpty { steps = [Step("nothing can match")] }
    if steps.count > 1 { steps = [Step(plan.isSorted ? "all of these" : "merged in order", steps)] }
    if plan.isFiltered { steps = [Step("each document is examined", steps)] }
    if plan.isSorted { steps = [Step("the matches are sorted", steps)] }
    let builds = plan.built.map { Step("built the index \($0)") }
    return Step(plan.summary, builds + steps).lines.joined(separator: "\n")
  }

  private struct Step {
    private let text: String
    private let parts: [Step]

    init(_ text: String, _ parts: [Step] = []) {
      self.text = text
      self.parts = parts
    }

    var lines: [String] {
      var lines = [text]
      for (number, part) in parts.enumerated() {
        let isLast = number == parts.count - 1
        for (row, line) in part.lines.enumerated() {
          let branch = isLast ? "└─ " : "├─ "
          lines.append((row == 0 ? branch : isLast ? "   " : "│  ") + line)
        }
      }
      return lines
    }
  }

  private static func object(_ plan: QueryExplanation) -> JSON {
    [
      "branches": plan.branches.map { branch in
        branch.map { ["index": $0.index?.description ?? "names", "ranges": $0.ranges] as JSON }
      },
      "built": plan.built.map(\.description), "backward": plan.isBackward, "sorted": plan.isSorted,
      "filtered": plan.isFiltered, "entriesRead": plan.entriesRead, "documentsRead": plan.documentsRead,
      "results": plan.results, "nanoseconds": plan.nanoseconds,
    ]
  }
}

// dugout explain DIR QUERY prints the plan of a query.

import DocumentStore

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
    let request = try QueryText.request(arguments.positional[1])
    let plan = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) in
      try store.explain(request.query)
    }
    let groups = request.grouping == nil ? "" : "\nThe documents are then grouped in memory."
    arguments.answer(text(plan) + groups, object(plan))
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

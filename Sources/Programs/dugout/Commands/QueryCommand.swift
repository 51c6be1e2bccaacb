// dugout query DIR QUERY prints the documents, the groups or the totals of a query.

import DocumentStore
import Foundation

enum QueryCommand: Command {
  static let name = "query"
  static let summary = "Prints what a query finds"
  static let usage =
    "DIR QUERY [--count] [--sum FIELD…] [--average FIELD…] [--fields LIST] [--offset N] [--csv] [--json]"
  static let options = [
    (option: "--count", meaning: "Only how many documents there are"),
    (option: "--sum FIELD…", meaning: "Only the sum of a field; once for each field"),
    (option: "--average FIELD…", meaning: "Only the average of a field; once for each field"),
    (option: "--fields LIST", meaning: "Only these fields, in this order: name,address.city,__name__"),
    (option: "--offset N", meaning: "Leave out the first N documents or groups"),
    (option: "--csv", meaning: "Lines of CSV in place of a table"),
    (option: Arguments.json, meaning: "One JSON object with all fields and the type of every value"),
  ]
  static let positional = 2...2
  static let notes =
    language + [""] + languageOfGroups
    + [
      "",
      "With --sum or --average, a document without one of these fields is not counted, not even by --count. There",
      "are five such results at most.", "",
      example, exampleOfGroup + " --count",
      "  dugout query data 'users where age >= 18 group by city count, average age order by count desc limit 10'",
      "  dugout query data 'users distinct address.city'",
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

  private static let languageOfGroups = [
    "After these clauses, the documents may be grouped:",
    "  group by FIELD, … [RESULT, …]   a RESULT is count, sum FIELD, average FIELD, min FIELD or max FIELD",
    "  distinct FIELD, …               only the different values",
    "  RESULT, …                       the results over all documents",
    "  order by FIELD or RESULT [desc], …   limit N   of the groups",
    "A RESULT leaves out documents without its field. Documents without a field of group by are a group, too. At most",
    "\(GroupedDocuments.groupsMax) groups fit into memory.",
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
    let request = try QueryText.request(arguments.positional[1])
    let aggregates = try aggregates(arguments)
    let fields = try FieldList(arguments)
    let offset = try offset(arguments)
    func refuse(_ option: String, _ why: String) throws {
      guard !arguments.has(option) else { throw CommandFailure(code: .usage, message: "\(option) \(why)") }
    }
    if arguments.has(Arguments.json) { try refuse("--csv", "and --json are two forms: choose one of them.") }
    if let grouping = request.grouping {
      for option in ["--count", "--sum", "--average"] {
        try refuse(option, "does not go with results in the query, such as: group by city count, sum age")
      }
      try refuse(FieldList.option, "is for documents. The fields of groups are those after \"group by\".")
      // This count needs no documents.
      if grouping == Grouping(fields: [], results: [.count]), offset == 0, !arguments.has("--csv") {
        return try printTotals([.count], of: request.query, arguments: arguments)
      }
      return try printGroups(of: (request.query, grouping), after: offset, arguments: arguments)
    }
    guard aggregates.isEmpty else {
      for option in [FieldList.option, "--offset", "--csv"] {
        try refuse(option, "does not go with --count, --sum and --average, which print no documents.")
      }
      return try printTotals(aggregates, of: request.query, arguments: arguments)
    }
    try printDocuments(of: request.query, fields, after: offset, arguments: arguments)
  }

  // MARK: Documents

  private static func printDocuments(
    of query: StructuredQuery, _ fields: FieldList?, after offset: Int, arguments: Arguments
  ) throws {
    let directory = arguments.positional[0]
    let isForPrograms = arguments.has("--csv") || arguments.has(Arguments.json)
    let (part, summary, advice) = try StoreAccess.withStore(directory, readOnly: true) {
      store throws(DocumentStoreError) in
      let (part, advice) = try IndexAdvice.during(store, directory) { () throws(DocumentStoreError) in
        try ResultPart(of: query, after: offset, from: store)
      }
      // Only people read how much there is in all.
      return (part, isForPrograms ? nil : try Self.summary(of: part, query, in: store), advice)
    }
    let absent = fields?.remark(about: part.documents)
    if arguments.has("--csv") {
      Terminal.print(lines: csv(part.documents, fields))
      ShownSnapshot.last?.printAge()
    } else {
      arguments.answer(
        text(part, query, fields: fields, summary: summary ?? ResultSummary(shown: 0), absent: absent),
        [
          "documents": part.documents.map { document in
            DocumentJSON.object(of: fields?.projected(document) ?? document)
          }
        ])
    }
    if isForPrograms, let absent {
      Terminal.printToStandardError("dugout query: \(absent)")
    }
    IndexAdvice.show(advice)
  }

  private static func summary(
    of part: ResultPart, _ query: StructuredQuery, in store: DocumentStore
  ) throws(DocumentStoreError) -> ResultSummary {
    var summary = ResultSummary(shown: part.documents.count)
    summary.total = try part.total(in: store)
    summary.offset = part.offset
    if summary.total == .exactly(0) { summary.remarks = [try CollectionHint.text(query, store)] }
    return summary
  }

  private static func text(
    _ part: ResultPart, _ query: StructuredQuery, fields: FieldList?, summary: ResultSummary, absent: String?
  ) -> String {
    var isGroup = false
    if case .collectionGroup = query.scope { isGroup = true }
    let table = DocumentTable(part.documents, DocumentTable.Form(fullPaths: isGroup, fields: fields))
    var summary = summary
    summary.hiddenFields = table.hiddenFields
    if fields != nil { summary.howToShow = "--json, or widen the terminal" }
    summary.remarks.append(absent)
    return (table.lines + [summary.text]).joined(separator: "\n")
  }

  /// The path comes first unless the fields say where it is.
  private static func csv(_ documents: [StoredDocument], _ fields: FieldList?) -> [String] {
    let paths: [StoredFieldPath]
    if let fields {
      paths = fields.paths.contains(.documentID) ? fields.paths : [.documentID] + fields.paths
    } else {
      // Compared as bytes, because canonically equivalent Unicode names are different columns.
      let names = Set(documents.flatMap { $0.fields.entries.map { StoredFieldPath(unchecked: [$0.name]) } })
      paths = [.documentID] + names.sorted()
    }
    let titles = paths.map { path in
      path == .documentID ? "path" : fields == nil ? path.names.joined() : path.canonical
    }
    return [CSV.row(titles)]
      + documents.map { document in
        CSV.row(
          paths.map { path in
            path == .documentID ? document.path.description : document.value(of: path).map(CSV.cell) ?? ""
          })
      }
  }

  // MARK: Groups and totals

  private static func printGroups(
    of request: (query: StructuredQuery, grouping: Grouping), after offset: Int, arguments: Arguments
  ) throws {
    let directory = arguments.positional[0]
    var undecodable = Undecodable()
    let ((groups, remark), advice) = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
        let start = ContinuousClock.now
        return try IndexAdvice.during(store, directory) { () throws(DocumentStoreError) in
          let groups = try GroupedDocuments.read(
            request, from: store, skipped: { undecodable.add($0) },
            progress: { documents in
              let seconds = (ContinuousClock.now - start) / .seconds(1)
              line.show(ProgressLine.pace(documents: documents, seconds: seconds, done: 0, of: 0))
            })
          return (groups, try Self.remark(groups, request.query, in: store))
        }
      }
    }
    let output = GroupOutput(groups, after: offset, remark: remark)
    if arguments.has("--csv") {
      Terminal.print(lines: output.csv)
      ShownSnapshot.last?.printAge()
    } else {
      arguments.answer(output.text(), output.object)
    }
    if arguments.has("--csv") || arguments.has(Arguments.json) { output.showRemark() }
    IndexAdvice.show(advice)
    if let failure = undecodable.failure("All others are counted.") { throw failure }
  }

  private static func remark(
    _ groups: GroupedDocuments, _ query: StructuredQuery, in store: DocumentStore
  ) throws(DocumentStoreError) -> String? {
    guard groups.documents > 0 else { return try CollectionHint.text(query, store) }
    guard !groups.absentFields.isEmpty else { return nil }
    let examples = try store.decodableDocuments(query.limited(to: .first(FieldGuess.documentsMax))).documents
    return FieldList.remark(groups.absentFields, in: examples)
  }

  private static func printTotals(
    _ aggregates: [Aggregate], of query: StructuredQuery, arguments: Arguments
  ) throws {
    let directory = arguments.positional[0]
    let (values, advice) = try StoreAccess.withStore(directory, readOnly: true) {
      store throws(DocumentStoreError) in
      try IndexAdvice.during(store, directory) { () throws(DocumentStoreError) in
        try store.aggregate(aggregates, over: query)
      }
    }
    let lines = zip(aggregates, values).map { "\(ShownText.escaped($0.alias))  \(DocumentText.cell(of: $1))" }
    let members = zip(aggregates, values).map {
      JSON.Member(name: $0.alias, value: DocumentJSON.object(of: $1))
    }
    arguments.answer(lines.joined(separator: "\n"), .object(members))
    IndexAdvice.show(advice)
  }

  // MARK: Options

  private static func offset(_ arguments: Arguments) throws -> Int {
    guard let text = arguments.value(of: "--offset") else { return 0 }
    guard let number = Int(text), number >= 0 else {
      throw CommandFailure(
        code: .usage, message: "--offset needs a whole number, such as --offset 20, not \"\(text)\".")
    }
    return number
  }

  private static func aggregates(_ arguments: Arguments) throws -> [Aggregate] {
    let sums = try arguments.fields(of: "--sum").map { Aggregate.sum($0) }
    let averages = try arguments.fields(of: "--average").map { Aggregate.average($0) }
    // A repeated aggregate is computed once.
    var named = Set<Aggregate>()
    return ((arguments.has("--count") ? [.count] : []) + sums + averages).filter { named.insert($0).inserted }
  }
}

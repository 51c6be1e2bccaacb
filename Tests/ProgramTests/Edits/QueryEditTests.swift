// Edits of many documents: commits, documents that change meanwhile, interruptions and failures.

import ByteStore
import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct QueryEditTests {
  private static let count = 1200

  private func makeStore(_ count: Int = count) throws -> DocumentStore {
    let store = try DocumentStore.openInMemory()
    for start in stride(from: 0, to: count, by: 400) {
      try store.commit(
        try (start..<min(start + 400, count)).map { number in
          .set(try path(number), StoredMap([("n", .integer(Int64(number))), ("m", .integer(0))]))
        })
    }
    return store
  }

  private func path(_ number: Int) throws -> DocumentPath { try DocumentPath(["c", "d\(10_000 + number)"]) }

  private var silent: ProgressLine { ProgressLine(width: { nil }, write: { _ in }) }

  private func edit(_ query: String, _ changes: String) throws -> QueryEdit {
    let changes = try FieldChanges([changes])
    return QueryEdit(
      query: try QueryText.query(query), words: QueryEdit.Words(verb: "Update", participle: "updated"),
      isRepeatable: changes.areRepeatable
    ) { document throws(DocumentStoreError) in try changes.mutation(of: document.path) }
  }

  private func count(_ query: String, _ store: DocumentStore) throws -> Int {
    try store.count(QueryText.query(query))
  }

  /// The edit changes the field that the query orders and filters by.
  @Test func eachDocumentIsChangedOnce() throws {
    let store = try makeStore()
    let edit = try edit("c where n < 1100 order by n", "n=increment(5000)")
    let matches = try edit.matches(in: store, silent)
    #expect(matches.paths.count == 1100)
    let before = store.statistics.lastCommit.value
    let outcome = edit.apply(to: matches.paths, in: store, line: silent, until: { false })
    #expect(outcome.changed == 1100 && outcome.failure == nil && !outcome.isInterrupted)
    #expect(store.statistics.lastCommit.value == before + 3)
    #expect(try count("c where n >= 5000 and n < 6100", store) == 1100)
    try store.close()
  }

  @Test func documentsThatChangedMeanwhileAreMatchedAgain() throws {
    let store = try makeStore(10)
    let edit = try edit("c where n >= 2", "m=1")
    let matches = try edit.matches(in: store, silent)
    #expect(matches.paths.count == 8)
    // One is deleted, one no longer matches, one still matches, and a new one was not found.
    try store.commit([
      .delete(try path(2)), .set(try path(3), StoredMap([("n", .integer(0))])),
      .set(try path(4), StoredMap([("n", .integer(99))])),
      .set(try path(50), StoredMap([("n", .integer(50))])),
    ])
    let outcome = edit.apply(to: matches.paths, in: store, line: silent, until: { false })
    #expect(outcome.changed == 6 && outcome.gone == 2)
    #expect(try store.document(at: path(2)) == nil && store.document(at: path(3))?.fields["m"] == nil)
    #expect(try store.document(at: path(4))?.fields == StoredMap([("n", .integer(99)), ("m", .integer(1))]))
    #expect(try store.document(at: path(50))?.fields["m"] == nil)
    let report = EditReport(edit: edit, matches: matches, outcome: outcome)
    #expect(
      report.text == "6 documents updated. 2 documents changed meanwhile, and the query no longer finds them."
    )
    try store.close()
  }

  /// A document that changes between the read and the commit of a transaction.
  @Test func aDocumentDeletedDuringTheCommitIsNotCreatedAgain() throws {
    let store = try makeStore(3)
    let changes = try FieldChanges(["m=1"])
    let deleted = try path(1)
    // Safe, because `apply` calls the closure below only on this thread.
    nonisolated(unsafe) var isDeleted = false
    let edit = QueryEdit(
      query: try QueryText.query("c"), words: QueryEdit.Words(verb: "Update", participle: "updated")
    ) { document throws(DocumentStoreError) in
      if !isDeleted {
        isDeleted = true
        try store.commit([.delete(deleted)])
      }
      return try changes.mutation(of: document.path)
    }
    let matches = try edit.matches(in: store, silent)
    let outcome = edit.apply(to: matches.paths, in: store, line: silent, until: { false })
    #expect(outcome.failure == nil && outcome.changed == 2 && outcome.gone == 1)
    #expect(try store.document(at: deleted) == nil && count("c where m == 1", store) == 2)
    try store.close()
  }

  @Test func anInterruptionEndsTheEditAfterItsCommit() throws {
    let store = try makeStore()
    let increment = try edit("c order by n", "m=increment(1)")
    let matches = try increment.matches(in: store, silent)
    var looks = 0
    let outcome = increment.apply(to: matches.paths, in: store, line: silent) {
      looks += 1
      return looks > 2
    }
    #expect(outcome.isInterrupted && outcome.changed == 1000)
    #expect(try count("c where m == 1", store) == 1000)
    let report = EditReport(edit: increment, matches: matches, outcome: outcome)
    #expect(report.failure?.code == .checkFailed)
    #expect(
      report.failure?.message
        == "ended by a signal. 1000 of 1200 documents were updated before that, and these changes are safe. The same "
        + "command would increment these a second time: the last one of these, in the order of the query, is c/d10999."
    )
    let set = EditReport(edit: try edit("c", "m=1"), matches: matches, outcome: outcome)
    #expect(set.failure?.message.hasSuffix("Run the same command again for the others.") == true)
    // Regression: with a limit, the same command deleted as many documents again.
    let limited = EditReport(edit: try edit("c limit 1200", "m=1"), matches: matches, outcome: outcome)
    #expect(
      limited.failure?.message.hasSuffix(
        "The limit of the same command would take further documents: the last one of these, in the order of the "
          + "query, is c/d10999.") == true, "\(String(describing: limited.failure?.message))")
    try store.close()
  }

  @Test func aFailedCommitLeavesThoseBeforeIt() throws {
    let store = try makeStore()
    try store.commit([
      .set(
        try path(700),
        StoredMap([("n", .integer(700)), ("big", .bytes([UInt8](repeating: 0, count: 900_000)))]))
    ])
    let text = String(repeating: "x", count: 200_000)
    let edit = try edit("c order by n", "m=\"\(text)\"")
    let matches = try edit.matches(in: store, silent)
    let outcome = edit.apply(to: matches.paths, in: store, line: silent, until: { false })
    #expect(outcome.failure != nil && outcome.changed > 0 && outcome.changed <= 700)
    let report = EditReport(edit: edit, matches: matches, outcome: outcome)
    #expect(report.failure?.code == .usage)
    #expect(
      report.failure?.message.contains(
        "\(outcome.changed) of 1200 documents were updated before that, and these changes are safe.") == true,
      "\(report.failure?.message ?? "")")
    try store.close()
  }
}

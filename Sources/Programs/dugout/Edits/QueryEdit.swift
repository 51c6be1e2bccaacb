// Changes all documents that a query finds.
//
//   1. find the documents, and keep their paths
//   2. in commits of at most 500 documents: read each one again, leave out those that the query no longer
//      matches, and write the others
//
// Each commit is a transaction: if a document changes between its read and the commit, the commit is tried
// again. A deleted document is therefore never created again.

import DocumentStore
import Foundation

struct QueryEdit {
  /// The words for the messages.
  struct Words {
    /// As in "Delete 3 documents?".
    var verb: String
    /// As in "3 documents deleted."
    var participle: String
    /// A sentence about what is not changed; empty if there is nothing to say.
    var scope = ""
  }

  static let batchMax = 500
  /// The maximum size of the documents and changes in a commit, except for the last ones. A commit may have
  /// 10 MiB of changes.
  private static let batchBytesMax = 8 << 20

  let query: StructuredQuery
  let words: Words
  /// Whether a document may be changed a second time after an interruption.
  var isRepeatable = true
  /// Returns nil for a document that would not change.
  let mutation: (StoredDocument) throws(DocumentStoreError) -> Mutation?

  // MARK: Finding

  struct Matches {
    /// In the order of the query.
    var paths: [DocumentPath] = []
    var undecodable = Undecodable()
  }

  func matches(in store: DocumentStore, _ line: ProgressLine) throws(DocumentStoreError) -> Matches {
    var matches = Matches()
    try DocumentPages(store: store, query: query).forEach(
      checkNotInterrupted: {}, skipped: { matches.undecodable.add($0) }
    ) { page in
      matches.paths += page.map(\.path)
      line.show("\(Wording.count(matches.paths.count, "document")) found")
    }
    return matches
  }

  // MARK: Changing

  struct Outcome {
    var changed = 0
    /// Documents that already are as they should be.
    var unchanged = 0
    /// Documents that were deleted or changed after they were found, and that the query no longer matches.
    var gone = 0
    var isInterrupted = false
    /// The error of the commit after `changed` documents.
    var failure: DocumentStoreError?

    var done: Int { changed + unchanged + gone }
  }

  /// Changes the documents until a commit fails or `isOver` returns true between two commits.
  func apply(
    to paths: [DocumentPath], in store: DocumentStore, line: ProgressLine, until isOver: () -> Bool
  ) -> Outcome {
    var outcome = Outcome()
    let start = ContinuousClock.now
    while outcome.done < paths.count {
      if isOver() {
        outcome.isInterrupted = true
        return outcome
      }
      do throws(DocumentStoreError) {
        try commit(paths[outcome.done...].prefix(Self.batchMax), to: store, adding: &outcome)
      } catch {
        outcome.failure = error
        return outcome
      }
      let (done, all) = (UInt64(outcome.done), UInt64(paths.count))
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      line.show(
        done, of: all,
        what: ProgressLine.pace(documents: outcome.done, seconds: seconds, done: done, of: all))
    }
    return outcome
  }

  /// Commits changes of the first paths, and adds them to the outcome.
  private func commit(
    _ paths: ArraySlice<DocumentPath>, to store: DocumentStore, adding outcome: inout Outcome
  ) throws(DocumentStoreError) {
    var attempt = 1
    while true {
      let transaction = try store.beginTransaction()
      defer { transaction.end() }
      do throws(DocumentStoreError) {
        var next = outcome
        let mutations = try mutations(for: paths, transaction, adding: &next)
        for mutation in mutations { try transaction.write(mutation) }
        try transaction.commit()
        outcome = next
        return
      } catch {
        guard error.isRetryable, attempt < DocumentStore.transactionAttempts else { throw error }
        attempt += 1
        store.waitBeforeAttempt(attempt)
      }
    }
  }

  /// Reads the documents in the transaction. Ends early at the maximum size of a commit.
  private func mutations(
    for paths: ArraySlice<DocumentPath>, _ transaction: StoreTransaction, adding outcome: inout Outcome
  ) throws(DocumentStoreError) -> [Mutation] {
    var mutations: [Mutation] = []
    var bytes = 0
    for path in paths where bytes < Self.batchBytesMax {
      guard let document = try transaction.document(at: path), query.matches(document) else {
        outcome.gone += 1
        continue
      }
      guard let mutation = try mutation(document) else {
        outcome.unchanged += 1
        continue
      }
      mutations.append(mutation)
      outcome.changed += 1
      // A document beyond the limits, from elsewhere, can still be deleted.
      let size = (try? DocumentLimits.check(document)) ?? Self.batchBytesMax
      bytes += size + (try DocumentLimits.check(mutation))
    }
    return mutations
  }
}

// The results of a commit, and documents that a commit writes about itself.

/// The results of a commit's mutations.
package struct CommitOutcome: Sendable, Equatable {
  /// The result of one mutation.
  package struct Write: Sendable, Equatable {
    /// The update time of the document after the mutation; nil if there is no document. A mutation that
    /// changes no field leaves the update time as it was.
    package var updateTime: StoredTimestamp?
    /// The update time of the document before the commit; nil if there was no document, or if its record was
    /// unreadable.
    package var previousUpdateTime: StoredTimestamp?
    /// One result per transform, in order: the new value, or null for an operation on an array.
    package var transformResults: [StoredValue]

    package init(
      updateTime: StoredTimestamp?, previousUpdateTime: StoredTimestamp?, transformResults: [StoredValue] = []
    ) {
      self.updateTime = updateTime
      self.previousUpdateTime = previousUpdateTime
      self.transformResults = transformResults
    }
  }

  /// The time of the commit.
  package var time: StoredTimestamp
  /// One result per mutation, in order.
  package var writes: [Write]

  package init(time: StoredTimestamp, writes: [Write]) {
    self.time = time
    self.writes = writes
  }
}

/// A document that a commit writes about itself, after its mutations. It takes part in the commit like a
/// document that a mutation sets: both are written, or none is.
package struct CommitRecord: Sendable {
  package var path: DocumentPath
  /// Computes the fields of the document. Called under the lock of the commit order, so it must be quick and
  /// must not use the store. Called again with another outcome if the commit depends on one that was refused.
  package var fields: @Sendable (CommitOutcome) -> StoredMap

  package init(path: DocumentPath, fields: @escaping @Sendable (CommitOutcome) -> StoredMap) {
    self.path = path
    self.fields = fields
  }
}

/// The conditions and the additions to the mutations of a commit.
struct CommitTerms: Sendable {
  /// The reads of a transaction, which must still hold when it commits.
  var reads: TransactionReads?
  /// Nil means the store's default durability.
  var durability: StoreDurability?
  /// Nil if the results of the mutations are not collected.
  var outcome: OutcomeRequest?

  var record: CommitRecord? { outcome?.record }

  /// A request for the results of the mutations.
  struct OutcomeRequest: Sendable {
    var record: CommitRecord?
  }
}

// Applies mutations whose results are collected.

extension CommitRequest {
  /// The times that a mutation needs of its document.
  struct Times {
    /// The update time before the commit; nil if there was no document.
    var before: StoredTimestamp?
    /// The update time if the mutation changes a field.
    var updated: StoredTimestamp
  }

  /// Applies a mutation to `base`, and adds its result to the outcome. Returns the document after it, which
  /// is within the limits.
  func document(
    after number: Int, on base: StoredDocument?, times: Times, shapes: ShapeDictionary,
    outcome: inout CommitOutcome
  ) throws(DocumentStoreError) -> StoredDocument? {
    if let record = terms.record, number == mutations.count - 1 {
      return try document(of: record, on: base, times: times, shapes: shapes, outcome: outcome)
    }
    let mutation = mutations[number].encoded(as: writes[number].record)
    let applied = try mutation.outcome(on: base, at: outcome.time, updated: times.updated, shapes: shapes)
    if let after = applied.document, mutation.dependsOnStoredFields { try DocumentLimits.check(after) }
    let before = times.before == .unreadable ? nil : times.before
    outcome.writes.append(
      CommitOutcome.Write(
        updateTime: applied.document?.updateTime, previousUpdateTime: before,
        transformResults: applied.transformResults))
    return applied.document
  }

  private func document(
    of record: CommitRecord, on base: StoredDocument?, times: Times, shapes: ShapeDictionary,
    outcome: CommitOutcome
  ) throws(DocumentStoreError) -> StoredDocument? {
    let mutation = Mutation.set(record.path, record.fields(outcome))
    _ = try DocumentLimits.check(mutation)
    return try mutation.outcome(on: base, at: outcome.time, updated: times.updated, shapes: shapes).document
  }
}

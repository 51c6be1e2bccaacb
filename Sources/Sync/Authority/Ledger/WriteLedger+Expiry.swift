// Removes runs that were not seen for the lifetime of runs.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
package import OfflineSync

extension WriteLedger {
  /// Documents that are removed with one commit.
  private static let documentsAtOnce = 200

  /// Removes all expired runs.
  package func removeExpired() throws(RemoteError) {
    let today = today
    while try removeSome(on: today) {}
    lastRemoval.withLock { $0 = max($0, today) }
  }

  /// Removes expired runs on the first call of a day, and a part of them if there are many. A failure waits
  /// for the next call.
  func removeExpiredDaily() {
    let today = today
    guard lastRemoval.withLock({ $0 < today }) else { return }
    guard let isIncomplete = try? removeSome(on: today), !isIncomplete else { return }
    lastRemoval.withLock { $0 = max($0, today) }
  }

  /// Removes expired runs like `removeExpiredDaily`, on another thread.
  func removeExpiredLater() {
    guard lastRemoval.withLock({ $0 < today }) else { return }
    removal.async { [weak self] in self?.removeExpiredDaily() }
  }

  /// Removes some expired runs. Returns false if none is left.
  private func removeSome(on today: Int64) throws(RemoteError) -> Bool {
    let day = firstDay(asOf: today)
    let removesRuns = try removeRuns(notSeenSince: day)
    let removesFinished = try removeFinishedRuns(notSeenSince: day)
    let removesEarlier = try removeEarlierRecords(notSeenSince: day)
    return removesRuns || removesFinished || removesEarlier
  }

  /// A run that was last seen before this day is expired. The lifetime has whole days.
  var firstDay: Int64 { firstDay(asOf: today) }

  private func firstDay(asOf today: Int64) -> Int64 {
    today - max(0, options.runLifetime) / Day.microseconds
  }

  private func expired(
    _ scope: StructuredQuery.Scope, _ day: Int64
  ) throws(RemoteError) -> [StoredDocument] {
    let seen = StoredFieldPath(unchecked: ["d"])
    return try backend.documents(
      try translating { () throws(DocumentStoreError) in
        try StructuredQuery(scope)
          .filtered(by: .field(seen, .lessThan, .integer(day)))
          .limited(to: .first(Self.documentsAtOnce))
      })
  }

  private func removeRuns(notSeenSince day: Int64) throws(RemoteError) -> Bool {
    let paths = try expired(.collectionGroup(RunName.runs), day).map(\.path)
      .filter { $0.segments[0] == RunName.queues }
    return try turns.during(Set(paths)) { () throws(RemoteError) in
      // A run may have been seen since the query.
      var stillExpired: [DocumentPath] = []
      for path in paths {
        guard case .integer(let last)? = try backend.document(at: path)?.fields["d"], last < day else {
          continue
        }
        stillExpired.append(path)
      }
      guard !stillExpired.isEmpty else { return false }
      _ = try backend.commit(BackendCommit(stillExpired.map { .delete($0) }))
      return true
    }
  }

  private func removeFinishedRuns(notSeenSince day: Int64) throws(RemoteError) -> Bool {
    let paths = try expired(.collection(CollectionPath(unchecked: [RunName.queues])), day).map(\.path)
    return try turns.during(Set(paths)) { () throws(RemoteError) in
      var mutations: [Mutation] = []
      for path in paths {
        guard let document = try backend.document(at: path) else { continue }
        var runs = FinishedRuns(document.fields) ?? FinishedRuns()
        runs.removeRuns(notSeenSince: day)
        mutations.append(runs.isEmpty ? .delete(path) : .set(path, runs.fields))
      }
      guard !mutations.isEmpty else { return false }
      _ = try backend.commit(BackendCommit(mutations))
      return true
    }
  }

  /// Removes records in the form of earlier releases, which do not change any more.
  private func removeEarlierRecords(notSeenSince day: Int64) throws(RemoteError) -> Bool {
    guard hasEarlierRecords.withLock({ $0 }) else { return false }
    var expired: [DocumentPath] = []
    var isEmpty = true
    for collection in [EarlierLedger.writers, EarlierLedger.writes] {
      var page = StructuredQuery(.collection(collection))
      while expired.count < Self.documentsAtOnce {
        let next = page
        let documents = try backend.documents(
          try translating { () throws(DocumentStoreError) in
            try next.limited(to: .first(Self.documentsAtOnce))
          })
        guard let last = documents.last else { break }
        isEmpty = false
        expired += documents.filter { Day.of($0.updateTime.microseconds) < day }.map(\.path)
        page = try translating { () throws(DocumentStoreError) in try next.starting(.after, last) }
      }
    }
    if isEmpty { hasEarlierRecords.withLock { $0 = false } }
    guard !expired.isEmpty else { return false }
    _ = try backend.commit(BackendCommit(expired.map { .delete($0) }))
    return true
  }
}

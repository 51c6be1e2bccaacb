// The authority of a loopback remote: a store that answers reads, applies each batch once and notifies
// sessions.
//
// It has no thread and no clock; calls must not overlap.

internal import ByteStore
public import DocumentStore
public import OfflineSync

package final class LoopbackServer {
  package let store: DocumentStore
  let feed: FeedConsumer
  /// The feed position up to which changes were passed to the sessions.
  private(set) var position: FeedPosition
  /// The time of the commit at `position`; 0 if unknown.
  private var time: Int64 = 0
  private(set) var version: SnapshotVersion
  private var sessions: [ObjectIdentifier: LoopbackSession] = [:]
  private var lastSession = 0
  var rules = LoopbackRules()

  package static let consumer = "__loopback__"

  package init(_ store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    feed = try store.feedConsumer(Self.consumer)
    position = feed.position
    version = SnapshotVersion(microseconds: 1)
    do throws(DocumentStoreError) {
      time = try timeOfCommit(at: position) ?? 0
    } catch {
      // The time stays 0, so other servers reject tokens with this position.
      guard case .feedTruncated = error else { throw error }
    }
    try catchUp()
    if let time = try store.snapshot().time { version = max(version, SnapshotVersion(time)) }
  }

  // MARK: Sessions

  /// Returns the number of the next session. Sessions are notified in the order of their numbers.
  func nextSession() -> Int {
    lastSession += 1
    return lastSession
  }

  func add(_ session: LoopbackSession) { sessions[ObjectIdentifier(session)] = session }

  func remove(_ session: LoopbackSession) { sessions[ObjectIdentifier(session)] = nil }

  /// Passes new commits to all sessions.
  package func catchUp() throws(DocumentStoreError) {
    while true {
      let commits: [FeedCommit]
      do throws(DocumentStoreError) {
        commits = try feed.read(max: 500)
      } catch {
        guard case .feedTruncated = error else { throw error }
        feed.skipToStart()
        (position, time) = (max(position, feed.position), 0)
        for session in sessions.values { session.resendAll() }
        continue
      }
      guard let last = commits.last else { break }
      for commit in commits {
        for change in commit.changes where !LoopbackLedger.isLedgerPath(change.path) {
          let document = try document(of: change, at: commit.time)
          for session in sessions.values { session.note(document) }
        }
      }
      (position, time) = (last.position, last.time.microseconds)
      version = max(version, SnapshotVersion(last.time))
    }
    for session in sessions.values.sorted(by: { $0.number < $1.number }) { try session.flush() }
  }

  /// The resume token of a target that is up to date.
  var mark: LoopbackResumeToken { LoopbackResumeToken(store: store.storeID, position: position, time: time) }

  /// Whether the feed contains the commit that a token names. Throws `feedTruncated` if the feed no longer
  /// keeps the changes at that position.
  func hasPassed(_ mark: LoopbackResumeToken) throws(DocumentStoreError) -> Bool {
    guard mark.store == store.storeID, mark.position <= position else { return false }
    if mark == self.mark { return true }
    guard mark.position > .start else { return mark.time == 0 }
    return try mark.time == timeOfCommit(at: mark.position)
  }

  /// Returns the time of the commit at a position, or nil if the feed has no commit there. Throws
  /// `feedTruncated` if the feed no longer keeps the changes at that position.
  private func timeOfCommit(at position: FeedPosition) throws(DocumentStoreError) -> Int64? {
    guard position > .start else { return nil }
    let before = FeedPosition(position.value - 1)
    let commit = try store.feedChanges(after: before, max: 1).commits.first
    return commit?.position == position ? commit?.time.microseconds : nil
  }

  /// Returns the document in its state after a change in the feed.
  func document(
    of change: FeedChange, at time: StoredTimestamp
  ) throws(DocumentStoreError) -> RemoteDocument {
    switch change.outcome {
    case .written(let document): return RemoteDocument(document)
    case .removed: return RemoteDocument(change.path, nil, version: SnapshotVersion(time))
    case .writtenWithMuchElse:
      return try store.document(at: change.path).map { RemoteDocument($0) }
        ?? RemoteDocument(change.path, nil, version: SnapshotVersion(time))
    }
  }

  // MARK: Writes

  /// Applies a batch once, however often it arrives, and returns its outcome. Returns nil if a guard does
  /// not hold.
  package func take(
    _ write: RemoteWrite, as user: String?
  ) throws(RemoteError) -> (version: SnapshotVersion, results: [WriteResult])? {
    do {
      // The rules do not apply to a batch that was already accepted.
      if let refusal = rules.mayWrite?(user, write.mutations), try !hasAccepted(write.id) { throw refusal }
      return try commit(write)
    } catch is Overtaken {
      return nil
    } catch let error as DocumentStoreError {
      throw RemoteError(error)
    } catch let error as RemoteError {
      throw error
    } catch {
      throw RemoteError(.unknown, "\(error)")
    }
  }

  private func hasAccepted(_ id: WriteID) throws(DocumentStoreError) -> Bool {
    LoopbackWriter(try store.document(at: LoopbackLedger.writer(id))).hasAccepted(id.batch)
  }

  private func commit(_ write: RemoteWrite) throws -> (version: SnapshotVersion, results: [WriteResult]) {
    let path = LoopbackLedger.write(write.id)
    try store.transaction { transaction in
      guard try transaction.document(at: path) == nil else { return }
      var writer = LoopbackWriter(try transaction.document(at: LoopbackLedger.writer(write.id)))
      if writer.hasAccepted(write.id.batch) { return }
      guard write.id.batch.value >= writer.floor else {
        // The batch is a delayed duplicate of a batch that was rejected or cancelled.
        throw RemoteError(.failedPrecondition, "Batch \(write.id.batch) was answered before.")
      }
      for (path, precondition) in write.guards {
        guard Self.holds(precondition, try transaction.document(at: path)) else {
          throw Overtaken()
        }
      }
      var results: [[StoredValue]] = []
      var documents: [DocumentPath: StoredDocument?] = [:]
      var originals: [DocumentPath: StoredDocument] = [:]
      for mutation in write.mutations {
        let base: StoredDocument?
        if let written = documents[mutation.path] {
          base = written
        } else {
          base = try transaction.document(at: mutation.path)
          originals[mutation.path] = base
        }
        // The commit time is not known yet; `LoopbackLedger.results` fills it in.
        let outcome = try mutation.outcome(on: base, at: SnapshotVersion.none.timestamp)
        documents[mutation.path] = .some(outcome.document)
        results.append(
          zip(mutation.transforms, outcome.transformResults).map {
            $0.operation == .serverTimestamp ? .null : $1
          })
      }
      for mutation in write.mutations { try transaction.write(mutation) }
      for old in writer.take(write.id.batch, firstOpen: write.firstOpen) {
        let id = WriteID(queue: write.id.queue, run: write.id.run, batch: old)
        try transaction.write(.delete(LoopbackLedger.write(id)))
      }
      try transaction.write(.set(LoopbackLedger.writer(write.id), writer.fields))
      var versions: [Int64] = []
      var previousVersions: [Int64] = []
      for mutation in write.mutations {
        let after = documents[mutation.path] ?? nil
        let old = originals[mutation.path]?.updateTime.microseconds ?? 0
        // A document that changed in between gets a new update time, even if its final state equals the
        // original.
        let isSame = after != nil && after == originals[mutation.path]
        versions.append(isSame ? old : 0)
        previousVersions.append(after == nil ? -old : old)
      }
      try transaction.write(
        .set(path, LoopbackLedger.fields(results, versions, previousVersions: previousVersions)))
    }
    guard let taken = try store.document(at: path) else { return try droppedOutcome(of: write) }
    return (SnapshotVersion(taken.createTime), LoopbackLedger.results(taken, write.mutations))
  }

  /// Thrown if a guard of a batch does not hold.
  private struct Overtaken: Error {}

  private static func holds(_ precondition: Precondition, _ document: StoredDocument?) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): (document != nil) == exists
    case .updateTime(let time): document?.updateTime == time
    }
  }

  /// Returns the answer to an accepted batch whose outcome was dropped because its client had received it.
  /// Only a copy of that client sends the batch again. The results carry the documents' current values, with
  /// a version just before their last change, so that the watch stream overrides them. `versionBefore` is
  /// that version, too, and no document ever had it. The result of a patch therefore counts as assumed until
  /// the watch stream delivers the document, and batches that follow are refused.
  private func droppedOutcome(
    of write: RemoteWrite
  ) throws(DocumentStoreError) -> (version: SnapshotVersion, results: [WriteResult]) {
    let results = try write.mutations.map { mutation throws(DocumentStoreError) in
      let document = try store.document(at: mutation.path)
      let placeholderVersion = SnapshotVersion(
        microseconds: max(1, (document?.updateTime.microseconds ?? 1) - 1))
      return WriteResult(
        version: placeholderVersion,
        transformResults: mutation.transforms.map { document?.fields[$0.field] ?? .null },
        versionBefore: placeholderVersion)
    }
    return (version, results)
  }
}

/// Access rules of the authority, for tests and for authorities that need them.
public struct LoopbackRules: Sendable {
  /// Returns an error to refuse the writes.
  public var mayWrite: (@Sendable (_ user: String?, _ mutations: [Mutation]) -> RemoteError?)?
  /// Returns an error to refuse a query. Called for the queries of listeners and aggregations, and for each
  /// document of a lookup.
  public var mayRead: (@Sendable (_ user: String?, _ query: StructuredQuery) -> RemoteError?)?

  /// Creates rules that refuse nothing.
  public init() {}
}

extension RemoteDocument {
  init(_ document: StoredDocument) {
    self.init(
      document.path, document.fields, version: SnapshotVersion(document.updateTime),
      createTime: SnapshotVersion(document.createTime))
  }
}

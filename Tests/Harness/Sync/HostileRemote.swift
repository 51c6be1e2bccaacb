// A remote that forwards the messages of another remote, and changes some of them or adds others so that they
// are invalid.
//
// A client can recognize each changed or added message as invalid, or the message only makes the client
// repeat a request. Plausible wrong data is not sent, because no client can detect it.

import ByteStore
import DocumentStore
import OfflineSync

final class HostileRemote: Remote, @unchecked Sendable {
  // The conformance is unchecked, because the mutable state has no lock. A history uses a remote only from
  // one thread.
  private let inner: any Remote
  private var invalidSource: InvalidDataGenerator
  /// On average, one in this many messages is invalid; nil if all are valid.
  var invalidOneIn: Int?

  init(_ inner: any Remote, seed: UInt64) {
    self.inner = inner
    invalidSource = InvalidDataGenerator(seed: seed)
  }

  var sentCounts: [InvalidField: Int] { invalidSource.sentCounts }

  var documentsName: String { inner.documentsName }
  var networkMonitor: (any NetworkMonitor)? { inner.networkMonitor }

  func networkDidChange() { inner.networkDidChange() }

  func observeCredentials(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    inner.observeCredentials(handler)
  }

  private var isInvalidDue: Bool { invalidOneIn.map { invalidSource.random.oneIn($0) } ?? false }

  // MARK: The watch stream

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    inner.openWatchStream(as: user) { [self] event in
      guard case .changed(let change, let version) = event, isInvalidDue else { return handler(event) }
      for event in falsified(change, version) { handler(event) }
    }
  }

  private func falsified(_ change: WatchChange, _ version: SnapshotVersion) -> [WatchStreamEvent] {
    let truth = WatchStreamEvent.changed(change, version)
    if case .document(let path, let document?, let updated, let removed) = change {
      let forged = invalidSource.document(path, document)
      // The valid message either follows the invalid one or is not sent on this stream at all.
      let falsified = WatchStreamEvent.changed(
        .document(forged.path, forged.document, updated: updated, removed: removed), .none)
      return invalidSource.random.oneIn(2) ? [falsified] : [falsified, truth]
    }
    switch invalidSource.pick([
      .snapshotVersion, .token, .largeToken, .targetID, .targetState, .filterCount, .filterBits,
    ]) {
    case .snapshotVersion:
      guard version != .none else {
        return [.changed(.target(.noChange, []), invalidSource.version()), truth]
      }
      // The invalid version replaces the valid one, so the client applies the snapshot's changes only with a
      // later snapshot.
      return [.changed(change, invalidSource.version())]
    case .token: return [withToken(change, version, count: (64 << 10) + 1)]
    case .largeToken: return [withToken(change, version, count: 9 << 20)]
    case .targetID:
      let ids = [Int32.min, -7, 0, 1_000_001, .max].map { TargetID($0) }
      return [
        .changed(.target(.added, ids), .none),
        .changed(.target(.removed, ids, cause: RemoteError(.unknown)), .none),
        .changed(.target(.current, ids, resumeToken: [1]), .none),
        .changed(.existenceFilter(ids[3], count: 1, nil), .none), truth,
      ]
    case .targetState:
      // `current` is not used, because a client would consider a target empty if it was marked current too
      // early.
      let states: [WatchChange.TargetState] = [.added, .removed, .reset, .noChange]
      var state = states[invalidSource.random.below(4)]
      // A reset directly before a true `current` says that the target is empty. If it is the target of one
      // document, that is plausible: a remote says the same of a deleted document, and the client then
      // ignores all older versions of it.
      if state == .reset, case .target(.current, _, _, _) = change { state = .noChange }
      return [.changed(.target(state, ids(of: change)), .none), truth]
    case .filterCount:
      let count = [-1, Int.min][invalidSource.random.below(2)]
      return ids(of: change).map { WatchStreamEvent.changed(.existenceFilter($0, count: count, nil), .none) }
        + [truth]
    default:
      let parts = BloomFilter.Parts(
        bitmap: [UInt8](repeating: 0xFF, count: invalidSource.random.below(3) * 1000),
        padding: [-1, 0, 7, 8, Int.max][invalidSource.random.below(5)],
        hashCount: [Int.min, 0, 1, 100, 101, Int.max][invalidSource.random.below(6)])
      return ids(of: change).map {
        WatchStreamEvent.changed(.existenceFilter($0, count: Int.max, parts), .none)
      } + [truth]
    }
  }

  private func ids(of change: WatchChange) -> [TargetID] {
    switch change {
    case .target(_, let ids, _, _): ids
    case .document(_, _, let updated, _): updated
    case .existenceFilter(let id, _, _): [id]
    }
  }

  private func withToken(_ change: WatchChange, _ version: SnapshotVersion, count: Int) -> WatchStreamEvent {
    guard case .target(let state, let ids, _, let cause) = change else { return .changed(change, version) }
    let token = [UInt8](repeating: 7, count: count)
    return .changed(.target(state, ids, resumeToken: token, cause: cause), version)
  }

  // MARK: The write stream

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    inner.openWriteStream(as: user) { [self] event in
      switch event {
      case .handshakeComplete where isInvalidDue:
        invalidSource.note(.answerToken)
        handler(.handshakeComplete(token: [UInt8](repeating: 1, count: 9 << 20)))
      case .answered(let version, let results, let token) where isInvalidDue:
        handler(falsified(version, results, token))
      default: handler(event)
      }
    }
  }

  private func falsified(
    _ version: SnapshotVersion, _ results: [WriteResult], _ token: [UInt8]
  ) -> WriteStreamEvent {
    var (version, results, token) = (version, results, token)
    switch invalidSource.pick([
      .resultVersion, .resultValue, .resultCount, .versionBefore, .answerToken, .overtaken,
    ]) {
    case .resultVersion:
      version = invalidSource.version()
      for place in results.indices {
        results[place].version = invalidSource.random.oneIn(2) ? .none : invalidSource.version()
      }
    case .resultValue:
      let field = invalidSource.pick([
        .depth, .pendingTime, .nestedPendingTime, .documentSize, .fieldName, .reference,
      ])
      let forged = invalidSource.value(field)
      for place in results.indices {
        results[place].transformResults = results[place].transformResults.map { _ in forged }
      }
    case .resultCount:
      results = invalidSource.random.oneIn(2) ? [] : results + results + results
      for place in results.indices { results[place].transformResults += [.null, .null] }
    case .versionBefore:
      for place in results.indices { results[place].versionBefore = invalidSource.version() }
    case .overtaken: return .overtaken
    default: token = [UInt8](repeating: 1, count: 9 << 20)
    }
    return .answered(version, results, token: token)
  }

  // MARK: Requests

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    inner.documents(at: paths, as: user) { [self] result in
      guard case .success(let documents) = result, isInvalidDue else { return answer(result) }
      invalidSource.note(.lookup)
      answer(.success(documents.map { invalidSource.document($0.path, $0).document }))
    }
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    inner.commit(mutations, as: user, answer)
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    inner.aggregate(aggregates, over: query, as: user, answer)
  }
}

// A batch as it is sent: first the guards, as writes that verify documents, then the writes of the batch.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

struct SentBatch {
  let guards: [Mutation]
  let mutations: [Mutation]

  init(_ write: RemoteWrite) {
    let held = write.guards.filter { $0.value != .none }.sorted {
      $0.key.description < $1.key.description
    }
    guards = held.map { Mutation.verify($0.key, $0.value) }
    mutations = write.mutations
  }

  /// The writes of the request.
  func writes(in database: DatabaseName) throws(RemoteError) -> [Wire.Write] {
    var writes: [Wire.Write] = []
    for mutation in guards + mutations { writes.append(try database.wire(mutation)) }
    return writes
  }

  /// The results of the batch. A server that knows no guards also answers those.
  func results(
    _ wire: [Wire.IdentifiedWriteResult], withGuards: Bool
  ) throws(RemoteError) -> [WriteResult] {
    try checkCount(wire.count, withGuards: withGuards)
    return wire.suffix(mutations.count).map(WriteResult.init)
  }

  /// The results of the batch, if they cannot be read. The client does not take their version for a time.
  func unreadableResults(_ count: Int, withGuards: Bool) throws(RemoteError) -> [WriteResult] {
    try checkCount(count, withGuards: withGuards)
    return mutations.map { _ in
      WriteResult(version: .none, versionBefore: SnapshotVersion(microseconds: .min))
    }
  }

  private func checkCount(_ count: Int, withGuards: Bool) throws(RemoteError) {
    let own = withGuards ? count - guards.count : count
    guard own == mutations.count else {
      throw RemoteError(
        .internal, "A batch of \(mutations.count) writes was answered with \(max(0, own)) results.")
    }
  }

  /// Whether a server that knows no guards has refused the batch because of a guard. A refused write may
  /// have this code, too, and the batch then counts as refused.
  func isOvertaken(_ error: RemoteError) -> Bool {
    func hasCode(_ mutation: Mutation) -> Bool {
      switch mutation.precondition {
      case .none: false
      case .updateTime: error.code == .failedPrecondition
      case .exists(false): error.code == .alreadyExists
      case .exists(true): error.code == .notFound
      }
    }
    return guards.contains(where: hasCode) && !mutations.contains(where: hasCode)
  }
}

extension WriteResult {
  /// Reads a result. Only a server of Dugout says which version was there before.
  fileprivate init(_ wire: Wire.IdentifiedWriteResult) {
    self.init(
      version: SnapshotVersion(wire.updateTime), transformResults: wire.transformResults,
      versionBefore: wire.versionBefore.map { SnapshotVersion(microseconds: $0) })
  }
}

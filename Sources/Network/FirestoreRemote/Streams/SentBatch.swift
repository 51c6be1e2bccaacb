// A batch as it is sent.
//
//   - A server of Dugout gets the guards first, as writes that verify documents.
//   - For other servers, the first write of a document has the guard as its precondition. They may refuse to
//     verify a document that the batch writes.
//   - Dropped writes are left out, because no server accepts them.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

struct SentBatch {
  let guards: [Mutation]
  /// The mutations of the client, dropped ones included.
  private let mutations: [Mutation]
  /// The mutations that are sent.
  private let sent: [Mutation]
  /// The guards that are preconditions of writes.
  private let conditions: [Precondition]

  init(_ write: RemoteWrite, isRegistered: Bool) {
    mutations = write.mutations
    var held = write.guards.filter { $0.value != .none }
    var sent = mutations.filter { !$0.isDropped }
    var conditions: [Precondition] = []
    if !isRegistered {
      for (place, mutation) in sent.enumerated() {
        guard let condition = held[mutation.path] else { continue }
        switch (mutation.precondition, condition) {
        case (.none, _), (.exists(true), .updateTime):
          sent[place] = Mutation(mutation.path, mutation.change, precondition: condition)
          conditions.append(condition)
        // The write requires a document, and the client knows that there is none. Only a verification can
        // say so.
        case (.exists(true), .exists(false)): continue
        // The write has a condition of its own, which decides.
        case (.exists, _), (.updateTime, _): break
        }
        held[mutation.path] = nil
      }
    }
    self.sent = sent
    self.conditions = conditions
    guards = held.sorted { $0.key.description < $1.key.description }.map { Mutation.verify($0.key, $0.value) }
  }

  /// The writes of the request.
  func writes(in database: DatabaseName) throws(RemoteError) -> [Wire.Write] {
    var writes: [Wire.Write] = []
    for mutation in guards + sent { writes.append(try database.wire(mutation)) }
    return writes
  }

  /// The results of the batch. A server that knows no guards also answers those.
  func results(
    _ wire: [Wire.IdentifiedWriteResult], withGuards: Bool
  ) throws(RemoteError) -> [WriteResult] {
    try checkCount(wire.count, withGuards: withGuards)
    var results = wire.suffix(sent.count).map(WriteResult.init).makeIterator()
    return mutations.map { mutation in
      (mutation.isDropped ? nil : results.next()) ?? WriteResult(version: .none)
    }
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
    guard own == sent.count else {
      throw RemoteError(
        .internal, "A batch of \(sent.count) writes was answered with \(max(0, own)) results.")
    }
  }

  /// Whether a server that knows no guards has refused the batch because of a guard. A refused write may
  /// have this code, too, and the batch then counts as refused.
  func isOvertaken(_ error: RemoteError) -> Bool {
    func hasCode(_ precondition: Precondition) -> Bool {
      switch precondition {
      case .none: false
      case .updateTime: error.code == .failedPrecondition
      case .exists(false): error.code == .alreadyExists
      case .exists(true): error.code == .notFound
      }
    }
    return (conditions + guards.map(\.precondition)).contains(where: hasCode)
      && !mutations.map(\.precondition).contains(where: hasCode)
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

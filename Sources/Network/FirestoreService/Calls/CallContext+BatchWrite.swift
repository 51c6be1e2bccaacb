// BatchWrite: writes that succeed or fail on their own.

internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  func batchWrite(_ request: Wire.BatchWriteRequest) throws(RemoteError) -> Wire.BatchWriteResponse {
    let database = try database(request.database)
    guard request.writes.count <= options.batchWritesMax else {
      throw RemoteError(
        .invalidArgument, "maximum \(options.batchWritesMax) writes allowed per request")
    }
    let mutations = try database.mutations(request.writes)
    guard Set(mutations.map(\.path)).count == mutations.count else {
      throw RemoteError(
        .invalidArgument, "the same document cannot be written more than once in a single request")
    }
    var response = Wire.BatchWriteResponse()
    for outcome in outcomes(of: mutations, in: database) {
      switch outcome {
      case .success(let committed):
        response.writeResults.append(
          committed.results.first.map { Wire.WriteResult($0) } ?? Wire.WriteResult())
        response.status.append(Wire.Status())
      case .failure(let error):
        response.writeResults.append(Wire.WriteResult())
        response.status.append(Wire.Status(error))
      }
    }
    return response
  }

  /// The number of writes of one batch that wait for the disk together. Further ones would make the writes of
  /// other clients wait.
  private static let groupCount = 50

  /// Commits each mutation on its own, in groups: all of a group are begun before the first is waited for, so
  /// that the store writes them together.
  private func outcomes(
    of mutations: [Mutation], in database: ServedDatabase
  ) -> [PendingOutcomes.Outcome] {
    var outcomes: [PendingOutcomes.Outcome] = []
    outcomes.reserveCapacity(mutations.count)
    for start in stride(from: 0, to: mutations.count, by: Self.groupCount) {
      let group = mutations[start..<min(start + Self.groupCount, mutations.count)]
      let pending = PendingOutcomes(group.count)
      for (place, mutation) in group.enumerated() {
        database.commit([mutation], as: user, connection: metadata.connection) {
          pending.set($0, at: place)
        }
      }
      outcomes += pending.wait()
    }
    return outcomes
  }
}

/// The outcomes of commits that end on another thread.
private final class PendingOutcomes: Sendable {
  typealias Outcome = Result<ServedDatabase.Committed, RemoteError>

  private let state: Locked<State>

  private struct State {
    var outcomes: [Outcome?]
    var missingCount: Int
  }

  init(_ count: Int) {
    state = Locked(State(outcomes: Array(repeating: nil, count: count), missingCount: count))
  }

  func set(_ outcome: Outcome, at place: Int) {
    state.withLock { state in
      state.outcomes[place] = outcome
      state.missingCount -= 1
    }
    state.wakeAll()
  }

  func wait() -> [Outcome] {
    state.withLock(when: { $0.missingCount == 0 }) { $0.outcomes.compactMap(\.self) }
  }
}

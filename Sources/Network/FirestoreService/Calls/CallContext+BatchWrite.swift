// BatchWrite: writes that succeed or fail on their own.

internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  func batchWrite(_ request: Wire.BatchWriteRequest) throws(RemoteError) -> Wire.BatchWriteResponse {
    let database = try database(request.database)
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

  /// Commits each mutation on its own. All of them are begun before the first is waited for, so that the
  /// store writes them in groups.
  private func outcomes(
    of mutations: [Mutation], in database: ServedDatabase
  ) -> [PendingOutcomes.Outcome] {
    let outcomes = PendingOutcomes(mutations.count)
    for (place, mutation) in mutations.enumerated() {
      database.commit([mutation], as: user) { outcomes.set($0, at: place) }
    }
    return outcomes.wait()
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

// BatchWrite: writes that succeed or fail on their own.

internal import Authority
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
      case .success(let outcome):
        let results = database.authority.results(of: outcome)
        response.writeResults.append(results.first.map { Wire.WriteResult($0) } ?? Wire.WriteResult())
        response.status.append(Wire.Status())
      case .failure(let error):
        response.writeResults.append(Wire.WriteResult())
        response.status.append(Wire.Status(error))
      }
    }
    database.authority.tellTime()
    return response
  }

  /// Commits each mutation on its own. All of them are begun before the first is waited for, so that the store
  /// writes them in groups.
  private func outcomes(
    of mutations: [Mutation], in database: ServedDatabase
  ) -> [Result<CommitOutcome, RemoteError>] {
    let outcomes = PendingOutcomes(mutations.count)
    for (place, mutation) in mutations.enumerated() {
      do throws(RemoteError) {
        try database.authority.checkWrite([mutation], as: user)
        database.authority.backend.commit(BackendCommit([mutation])) { outcomes.set($0, at: place) }
      } catch {
        outcomes.set(.failure(error), at: place)
      }
    }
    return outcomes.wait()
  }
}

/// The outcomes of commits that end on another thread.
private final class PendingOutcomes: Sendable {
  private let state: Locked<State>

  private struct State {
    var outcomes: [Result<CommitOutcome, RemoteError>?]
    var missingCount: Int
  }

  init(_ count: Int) {
    state = Locked(State(outcomes: Array(repeating: nil, count: count), missingCount: count))
  }

  func set(_ outcome: Result<CommitOutcome, RemoteError>, at place: Int) {
    state.withLock { state in
      state.outcomes[place] = outcome
      state.missingCount -= 1
    }
    state.wakeAll()
  }

  func wait() -> [Result<CommitOutcome, RemoteError>] {
    state.withLock(when: { $0.missingCount == 0 }) { $0.outcomes.compactMap(\.self) }
  }
}

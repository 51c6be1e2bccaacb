// BatchWrite: writes that succeed or fail on their own.

internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// The number of writes of one batch that wait for the disk together. Further ones would make the writes of
  /// other clients wait.
  private static let groupCount = 50

  /// Commits each mutation on its own, in groups: all of a group are begun before the first has ended, so
  /// that the store writes them together. Each group is a step. All groups together wait for locks as long as
  /// one commit.
  func batchWrite(
    _ request: Wire.BatchWriteRequest, _ send: @escaping Send<Wire.BatchWriteResponse>
  ) throws(RemoteError) -> AnswerProgress {
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
    var client = client
    client.waitsUntil = options.clock.now() &+ database.locks.waitNanoseconds
    return try commit(mutations[...], in: database, for: client, send: send)
  }

  /// Commits the rest of a batch, and adds the outcomes to the response.
  private func commit(
    _ rest: ArraySlice<Mutation>, in database: ServedDatabase, for client: ServiceClient,
    after response: Wire.BatchWriteResponse = Wire.BatchWriteResponse(),
    send: @escaping Send<Wire.BatchWriteResponse>
  ) throws(RemoteError) -> AnswerProgress {
    guard !rest.isEmpty else {
      _ = try send(response)
      return .done
    }
    let group = Array(rest.prefix(Self.groupCount))
    return .waiting { resume in
      let pending = PendingOutcomes(group.count) { outcomes in
        resume { () throws(RemoteError) in
          var response = response
          for outcome in outcomes { response.add(outcome) }
          return try commit(
            rest.dropFirst(group.count), in: database, for: client, after: response, send: send)
        }
      }
      for (place, mutation) in group.enumerated() {
        database.commit([mutation], for: client) { pending.set($0, at: place) }
      }
    }
  }
}

extension Wire.BatchWriteResponse {
  fileprivate mutating func add(_ outcome: PendingOutcomes.Outcome) {
    switch outcome {
    case .success(let committed):
      writeResults.append(committed.results.first.map { Wire.WriteResult($0) } ?? Wire.WriteResult())
      status.append(Wire.Status())
    case .failure(let error):
      writeResults.append(Wire.WriteResult())
      status.append(Wire.Status(error))
    }
  }
}

/// The outcomes of commits that end on other threads.
private final class PendingOutcomes: Sendable {
  typealias Outcome = Result<ServedDatabase.Committed, RemoteError>

  private let state: Locked<State>
  private let done: @Sendable ([Outcome]) -> Void

  private struct State {
    var outcomes: [Outcome?]
    var missingCount: Int
  }

  /// `done` is called when all outcomes are known.
  init(_ count: Int, _ done: @escaping @Sendable ([Outcome]) -> Void) {
    state = Locked(State(outcomes: Array(repeating: nil, count: count), missingCount: count))
    self.done = done
  }

  func set(_ outcome: Outcome, at place: Int) {
    let outcomes: [Outcome]? = state.withLock { state in
      state.outcomes[place] = outcome
      state.missingCount -= 1
      return state.missingCount == 0 ? state.outcomes.compactMap(\.self) : nil
    }
    if let outcomes { done(outcomes) }
  }
}

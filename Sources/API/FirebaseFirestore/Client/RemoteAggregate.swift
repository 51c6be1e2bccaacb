// An aggregate that the remote computes, with retries and a time limit.

import DocumentStore
import Foundation
import OfflineSync

struct RemoteAggregate: Sendable {
  static let attemptsMax = 3

  let aggregates: [Aggregate]
  let query: StructuredQuery
  let remote: any Remote
  let user: String?
  let limit: RemoteTimeLimit
  let attemptsMax: Int
  let done: @Sendable (Result<[StoredValue], any Error>) -> Void

  static var unavailable: any Error {
    FirestoreErrors.make(.unavailable, "Failed to get result from server.")
  }

  func send() {
    var backoff = Backoff(seed: limit.simulation?.random() ?? .random(in: 0...UInt64.max))
    // Skip the first pause, which has length zero, so that there is a real pause before the second attempt.
    _ = backoff.next()
    send(attempt: 1, backoff)
  }

  private func send(attempt: Int, _ backoff: Backoff) {
    // The time limit may have expired during the pause.
    if limit.isOver { return retry(after: limit.unanswered, attempt, backoff: backoff) }
    let reply = RemoteReply<[StoredValue]>(limit) { result in
      switch result {
      case .success(let values):
        if let refusal = refusal(of: values) {
          return done(.failure(FirestoreErrors.translate(.refused(refusal))))
        }
        done(.success(values))
      case .failure(let error): retry(after: error, attempt, backoff: backoff)
      }
    }
    remote.aggregate(aggregates, over: query, as: user) { reply.take($0) }
  }

  /// Returns a refusal if these values are not possible results of the aggregates.
  private func refusal(of values: [StoredValue]) -> RemoteRefusal? {
    guard values.count == aggregates.count else {
      return RemoteRefusal(.answer, "It has \(values.count) values in place of \(aggregates.count).")
    }
    for (aggregate, value) in zip(aggregates, values) where !aggregate.canProduce(value) {
      return RemoteRefusal(.answer, "It has a value that \(aggregate.alias) cannot have.")
    }
    return nil
  }

  private func retry(after error: RemoteError, _ attempt: Int, backoff: Backoff) {
    guard !error.code.isPermanent, attempt < attemptsMax, !limit.isOver else {
      let isAway = error.code == .unavailable || error == RemoteReply<Void>.unanswered
      return done(.failure(isAway ? Self.unavailable : FirestoreErrors.translate(.remote(error))))
    }
    var backoff = backoff
    let pause = backoff.next()
    if let simulation = limit.simulation {
      return simulation.pause(pause) { [backoff] in send(attempt: attempt + 1, backoff) }
    }
    Timeouts.queue.asyncAfter(deadline: .now() + .microseconds(Int(pause))) { [backoff] in
      // The app's remote may block, which the queue of timeouts must not.
      DispatchQueue.global().async { send(attempt: attempt + 1, backoff) }
    }
  }
}

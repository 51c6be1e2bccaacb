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
  let patience: Patience
  let attemptsMax: Int
  let done: @Sendable (Result<[StoredValue], any Error>) -> Void
  /// A separate queue, because blocked operations may occupy all threads of the global queue.
  let pauses = DispatchQueue(label: "dugout.firestore.aggregate")

  static var unavailable: any Error {
    FirestoreErrors.make(.unavailable, "Failed to get result from server.")
  }

  func ask() {
    var backoff = Backoff(seed: .random(in: 0...UInt64.max))
    // Skip the first pause, which is zero, so that the second attempt waits.
    _ = backoff.next()
    ask(attempt: 1, backoff)
  }

  private func ask(attempt: Int, _ backoff: Backoff) {
    // The time limit may have ended during the pause.
    if patience.isOver { return take(patience.unanswered, attempt, backoff) }
    let answer = FirstAnswer<[StoredValue]>(patience) { result in
      switch result {
      case .success(let values):
        if let refusal = refusal(of: values) {
          return done(.failure(FirestoreErrors.translate(.refused(refusal))))
        }
        done(.success(values))
      case .failure(let error): take(error, attempt, backoff)
      }
    }
    remote.aggregate(aggregates, over: query, as: user) { answer.take($0) }
  }

  /// Returns a refusal if the values cannot be results of the aggregates.
  private func refusal(of values: [StoredValue]) -> RemoteRefusal? {
    guard values.count == aggregates.count else {
      return RemoteRefusal(.answer, "It has \(values.count) values in place of \(aggregates.count).")
    }
    for (aggregate, value) in zip(aggregates, values) where !aggregate.canBe(value) {
      return RemoteRefusal(.answer, "A value in it is none that \(aggregate.alias) can have.")
    }
    return nil
  }

  private func take(_ error: RemoteError, _ attempt: Int, _ backoff: Backoff) {
    guard !error.code.isPermanent, attempt < attemptsMax, !patience.isOver else {
      let isAway = error.code == .unavailable || error == FirstAnswer<Void>.unanswered
      return done(.failure(isAway ? Self.unavailable : FirestoreErrors.translate(.remote(error))))
    }
    var backoff = backoff
    let pause = backoff.next()
    pauses.asyncAfter(deadline: .now() + .microseconds(Int(pause))) { [backoff] in
      ask(attempt: attempt + 1, backoff)
    }
  }
}

// An aggregate that a remote computes: asked again while the remote has trouble, and given up in time.

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
  /// Of its own: what works in the global one may have all threads of that.
  let pauses = DispatchQueue(label: "dugout.firestore.aggregate")

  static var unavailable: any Error {
    FirestoreErrors.make(.unavailable, "Failed to get result from server.")
  }

  func ask() {
    var backoff = Backoff(seed: .random(in: 0...UInt64.max))
    // The second attempt already waits.
    _ = backoff.next()
    ask(attempt: 1, backoff)
  }

  private func ask(attempt: Int, _ backoff: Backoff) {
    // All may have come to its end in the pause.
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

  /// Refuses values that the aggregates cannot have.
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

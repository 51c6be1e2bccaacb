// Passes results to completion handlers on the callback queue.

private import FirebaseCore
private import Foundation

extension Firestore {
  /// Returns a closure that passes a result to `completion` on the callback queue.
  func told<Value: Sendable>(
    _ completion: @escaping (Value?, (any Error)?) -> Void
  ) -> @Sendable (Result<Value, any Error>) -> Void {
    callbackQueue.passing(to: completion)
  }
}

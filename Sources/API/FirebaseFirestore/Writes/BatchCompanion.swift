// An object that learns how a batch ended.

import ByteStore
package import Dispatch

/// The state that a layer keeps for a batch. It receives the result before the completion handler of the
/// commit.
package protocol BatchCompanion: AnyObject, Sendable {
  /// Called on the callback queue if there is one, and otherwise before the task that awaits the commit
  /// resumes. The implementation must call `then` there, at once or later.
  func batchEnded(_ error: (any Error)?, on queue: DispatchQueue?, then: @escaping () -> Void)
}

extension WriteBatch {
  package var companion: (any BatchCompanion)? {
    get { state.withLock { $0.companion } }
    set { state.withLock { $0.companion = newValue } }
  }
}

extension Result {
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

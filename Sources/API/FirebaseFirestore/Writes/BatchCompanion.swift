// A protocol for objects that are notified when a batch ends.

import ByteStore
package import Dispatch

/// An object that another layer attaches to a batch. It receives the result of the commit before the
/// completion handler does.
package protocol BatchCompanion: AnyObject, Sendable {
  /// Notifies the companion of the result. If there is a callback queue, the call is made on that queue, and
  /// the implementation must call `then` on the same queue. Otherwise the call is made before the task that
  /// awaits the commit resumes. The implementation may call `then` immediately or later, but must call it.
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

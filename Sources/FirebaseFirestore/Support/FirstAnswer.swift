// What a remote answers to one question. The first answer counts, and who waits for it does not wait for ever.

import Dispatch
import FirebaseCore
import OfflineSync

/// Usable from any thread.
final class FirstAnswer<Value: Sendable>: Sendable {
  typealias Answer = Result<Value, RemoteError>

  private let waiting: Guarded<(@Sendable (Answer) -> Void)?>

  /// What takes the place of an answer that does not come.
  static var unanswered: RemoteError { RemoteError(.deadlineExceeded, "The remote has not answered.") }

  /// `end` is called once: with `unanswered` if nothing else comes in time.
  init(within seconds: Double = 60, _ end: @escaping @Sendable (Answer) -> Void) {
    waiting = Guarded(end)
    // Kept until then: who asks may have let go of it.
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
      take(.failure(Self.unanswered))
    }
  }

  func take(_ answer: Answer) {
    let end = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
    end?(answer)
  }
}

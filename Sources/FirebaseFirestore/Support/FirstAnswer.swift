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

  /// One of several questions that have so much time in all.
  convenience init(_ patience: Patience, _ end: @escaping @Sendable (Answer) -> Void) {
    let begin = DispatchTime.now()
    self.init(within: patience.secondsForOne) { answer in
      patience.spend(Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9)
      end(answer)
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

/// How long one call of a user waits for a remote, however often it asks. What the user does in between does not count.
final class Patience: Sendable {
  private let secondsEach: Double
  private let left: Guarded<Double>

  /// `each` is for one question, if that is less.
  init(seconds: Double, each: Double = 60) {
    secondsEach = each
    left = Guarded(seconds)
  }

  var isOver: Bool { left.withLock { $0 <= 0 } }

  var secondsForOne: Double { min(secondsEach, left.withLock { max(0, $0) }) }

  func spend(_ seconds: Double) { left.withLock { $0 -= seconds } }
}

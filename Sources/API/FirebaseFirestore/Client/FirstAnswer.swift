// What a remote answers to one question. The first answer counts, and who waits for it does not wait for ever.

import Dispatch
import FirebaseCore
import OfflineSync

/// Where it is said that nobody has answered. Of a priority of its own: those who wait may have all threads of theirs.
private let timeouts = DispatchQueue(label: "dugout.firestore.timeouts", qos: .userInteractive)

/// Usable from any thread.
final class FirstAnswer<Value: Sendable>: Sendable {
  typealias Answer = Result<Value, RemoteError>

  private let waiting: Guarded<(@Sendable (Answer) -> Void)?>

  /// What takes the place of an answer that does not come.
  static var unanswered: RemoteError { .unanswered }

  /// `end` is called once: with `unanswered` if nothing else comes in time.
  init(within seconds: Double = 60, _ end: @escaping @Sendable (Answer) -> Void) {
    waiting = Guarded(end)
    // Kept until then: who asks may have let go of it.
    timeouts.asyncAfter(deadline: .now() + seconds) { [self] in
      take(.failure(Self.unanswered))
    }
  }

  /// One of several questions that have so much time in all.
  convenience init(_ patience: Patience, _ end: @escaping @Sendable (Answer) -> Void) {
    let begin = DispatchTime.now()
    self.init(within: patience.secondsForOne) { answer in
      patience.spend(Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9)
      guard case .failure(FirstAnswer<Void>.unanswered) = answer else { return end(answer) }
      end(.failure(patience.unanswered))
    }
    patience.follow { [weak self] in self?.take(.failure(Self.unanswered)) }
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
  private struct State {
    var left: Double
    /// Why it is over before its time.
    var end: RemoteError?
    /// Gives up the question that was asked last.
    var giveUp: (@Sendable () -> Void)?
  }

  private let secondsEach: Double
  private let state: Guarded<State>
  private let ended = DispatchSemaphore(value: 0)

  /// `each` is for one question, if that is less.
  init(seconds: Double, each: Double = 60) {
    secondsEach = each
    state = Guarded(State(left: seconds))
  }

  var isOver: Bool { state.withLock { $0.end != nil || $0.left <= 0 } }

  var secondsForOne: Double { state.withLock { $0.end != nil ? 0 : min(secondsEach, max(0, $0.left)) } }

  /// What takes the place of an answer that does not come.
  var unanswered: RemoteError { state.withLock { $0.end } ?? FirstAnswer<Void>.unanswered }

  func spend(_ seconds: Double) { state.withLock { $0.left -= seconds } }

  /// `giveUp` is called when all is over before its time, unless another question has come; at once if that is so.
  func follow(_ giveUp: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      state.giveUp = giveUp
      return state.end != nil
    }
    if hasEnded { giveUp() }
  }

  /// Whether there is patience left after so many seconds, which do not count. An end ends them.
  func pause(_ seconds: Double) -> Bool {
    if !isOver { _ = ended.wait(timeout: .now() + seconds) }
    return !isOver
  }

  /// Before its time: this is what the question under way, and all that come, have as their answer.
  func end(with error: RemoteError) {
    let giveUp = state.withLock { state in
      state.end = state.end ?? error
      defer { state.giveUp = nil }
      return state.giveUp
    }
    ended.signal()
    giveUp?()
  }
}

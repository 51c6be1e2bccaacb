// The reply to one request to a remote. Only the first reply counts, and the wait for it ends at a timeout.

import ByteStore
import Dispatch
import FirebaseCore
import OfflineSync

/// The queue of timeouts and of pauses between attempts. Its priority differs from that of the waiting
/// queues, because these queues may occupy all threads of their own priority. Work on this queue must not
/// block.
enum Timeouts {
  static let queue = DispatchQueue(label: "dugout.firestore.timeouts", qos: .userInteractive)
}

/// A one-shot result with a timeout. Any thread may use it.
final class RemoteReply<Value: Sendable>: Sendable {
  typealias Reply = Result<Value, RemoteError>

  private let waiting: Locked<(@Sendable (Reply) -> Void)?>

  /// The error for a request that timed out.
  static var unanswered: RemoteError { .unanswered }

  /// Calls `end` once: with the first reply, or with `unanswered` after the timeout.
  init(
    within seconds: Double = 60, in simulation: (any Simulation)? = nil,
    _ end: @escaping @Sendable (Reply) -> Void
  ) {
    waiting = Locked(end)
    // The closure retains this object until the timeout, because the caller may already have released it.
    let timeOut: @Sendable () -> Void = { [self] in take(.failure(Self.unanswered)) }
    if let simulation {
      simulation.run(after: Int64(seconds * 1_000_000), timeOut)
    } else {
      Timeouts.queue.asyncAfter(deadline: .now() + seconds, execute: timeOut)
    }
  }

  /// Creates the reply to one of several requests that share a time limit.
  convenience init(_ limit: RemoteTimeLimit, _ end: @escaping @Sendable (Reply) -> Void) {
    let begin = limit.uptime
    self.init(within: limit.secondsForOne, in: limit.simulation) { reply in
      limit.spend(limit.uptime - begin)
      guard case .failure(RemoteReply<Void>.unanswered) = reply else { return end(reply) }
      end(.failure(limit.unanswered))
    }
    limit.setCancellation { [weak self] in self?.take(.failure(Self.unanswered)) }
  }

  func take(_ reply: Reply) {
    let end = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
    end?(reply)
  }
}

/// The time limit for one call of a user, shared by all requests to a remote that the call sends. The limit
/// counts only the time in which the call waits for the remote, not the time in the user's own code.
final class RemoteTimeLimit: Sendable {
  private struct State {
    var remaining: Double
    /// The error that ended the limit early; nil if the limit has not been ended early.
    var end: RemoteError?
    /// Cancels the most recent request.
    var cancel: (@Sendable () -> Void)?
  }

  private let secondsEach: Double
  private let state: Locked<State>
  private let ended = DispatchSemaphore(value: 0)
  /// The simulation whose time counts; nil outside a simulation.
  let simulation: (any Simulation)?

  /// Creates a time limit of `seconds` for all requests together and of `each` seconds for a single request.
  init(seconds: Double, each: Double = 60, in simulation: (any Simulation)? = nil) {
    secondsEach = each
    state = Locked(State(remaining: seconds))
    self.simulation = simulation
  }

  /// The time since some fixed time, in seconds.
  fileprivate var uptime: Double {
    if let simulation { return Double(simulation.now()) / 1e6 }
    return Double(DispatchTime.now().uptimeNanoseconds) / 1e9
  }

  var isOver: Bool { state.withLock { $0.end != nil || $0.remaining <= 0 } }

  var secondsForOne: Double { state.withLock { $0.end != nil ? 0 : min(secondsEach, max(0, $0.remaining)) } }

  /// The error for a request that timed out, or the error that ended the limit early.
  var unanswered: RemoteError { state.withLock { $0.end } ?? RemoteReply<Void>.unanswered }

  func spend(_ seconds: Double) { state.withLock { $0.remaining -= seconds } }

  /// Stores `cancel`, which is called if the limit is ended early. A later call of this method replaces
  /// `cancel`. If the limit has already been ended, `cancel` is called at once.
  func setCancellation(_ cancel: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      state.cancel = cancel
      return state.end != nil
    }
    if hasEnded { cancel() }
  }

  /// Pauses for `seconds` and returns whether any time is remaining. The pause does not count toward the
  /// limit. Ending the limit early also ends the pause.
  func pause(_ seconds: Double) -> Bool {
    guard !isOver else { return false }
    if let simulation {
      pause(seconds, in: simulation)
    } else {
      _ = ended.wait(timeout: .now() + seconds)
    }
    return !isOver
  }

  /// Begins a request, and blocks the calling thread until the request calls `done`.
  func wait<Value: Sendable>(
    _ begin: (_ done: @escaping @Sendable (Value) -> Void) -> Void
  ) -> Value {
    guard let simulation else { return waitForValue(begin) }
    return simulation.wait(begin)
  }

  private func pause(_ seconds: Double, in simulation: any Simulation) {
    simulation.wait { (done: @escaping @Sendable (()) -> Void) in
      let waiting = Locked<(@Sendable (()) -> Void)?>(done)
      let end: @Sendable () -> Void = {
        let done = waiting.withLock { waiting in
          defer { waiting = nil }
          return waiting
        }
        done?(())
      }
      simulation.pause(Int64(seconds * 1_000_000), then: end)
      setCancellation(end)
    }
  }

  /// Ends the limit early: `error` becomes the reply to the current request and to all later ones.
  func end(with error: RemoteError) {
    let cancel = state.withLock { state in
      state.end = state.end ?? error
      defer { state.cancel = nil }
      return state.cancel
    }
    ended.signal()
    cancel?()
  }
}

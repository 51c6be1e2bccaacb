// How much is under way, for an indicator of network activity.

import FirebaseCore
import Foundation

/// An operation that is under way as long as this object lives.
///
/// ```swift
/// Inflight.onChange { count in print(count == 0 ? "idle" : "busy") }
/// ```
open class Inflight {
  private struct State {
    var count = 0
    var handler: (@Sendable (Int) -> Void)?
  }

  private static let state = Guarded(State())

  /// Work begins, and ends when this is gone.
  public init() { Self.add(1) }

  deinit { Self.add(-1) }

  /// The reads and writes of all streams and resources that are not over.
  public class var count: Int { state.withLock { $0.count } }

  /// `handler` gets each new count, on whatever thread it changed. Nil ends that.
  public class func onChange(_ handler: (@Sendable (Int) -> Void)?) {
    state.withLock { $0.handler = handler }
  }

  private static func add(_ number: Int) {
    let (count, handler) = state.withLock { state in
      state.count += number
      return (state.count, state.handler)
    }
    handler?(count)
  }
}

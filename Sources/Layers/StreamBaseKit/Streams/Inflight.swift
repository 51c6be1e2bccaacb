// The number of pending operations, for a network activity indicator.

import ByteStore
import Foundation

/// An object that counts as one pending operation as long as it lives.
///
/// ```swift
/// Inflight.onChange { count in print(count == 0 ? "idle" : "busy") }
/// ```
open class Inflight {
  private struct State {
    var count = 0
    var handler: (@Sendable (Int) -> Void)?
  }

  private static let state = Locked(State())

  /// Counts one pending operation until this object is freed.
  public init() { Self.add(1) }

  deinit { Self.add(-1) }

  /// The number of pending reads and writes of all streams and resources.
  public class var count: Int { state.withLock { $0.count } }

  /// Sets a handler that receives each new count, on the thread that changed the count. Passing nil removes
  /// the handler.
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

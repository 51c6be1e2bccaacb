// The reaction to misuse of the API: the only trap in the API modules. Tests can replace it.

import ByteStore
import Foundation
private import Synchronization

/// Ends a program that violates a rule of the API: it passed an invalid path or argument, or made a call in a
/// wrong state.
///
/// Firebase raises an Objective-C exception here, which Swift cannot catch. So this function traps, with
/// Firebase's message. An error that can occur in a correct program is reported as an `NSError` and never
/// reaches this function.
///
/// Outside input can cause a misuse that the program cannot easily rule out, such as an invalid path. Such a
/// misuse is passed to `report`, which traps as well, except within `recording`.
///
/// `trap` never returns, so a test observes it in a separate process. The default hook writes the message to
/// standard error, which is enough for most tests:
///
/// ```swift
/// let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
///   _ = Timestamp(seconds: 0, nanoseconds: -1)
/// }
/// ```
///
/// A test that needs more than the message replaces the hook at the start of the closure:
///
/// ```swift
/// await #expect(processExitsWith: .exitCode(42)) {
///   ProgrammerError.hook = { message in exit(message.isEmpty ? 1 : 42) }
///   _ = Timestamp(seconds: 0, nanoseconds: -1)
/// }
/// ```
package enum ProgrammerError {
  package typealias Hook = @Sendable (String) -> Never

  private static let current = Locked<Hook>({ message in fatalError(message) })

  /// The function that ends the process, or at least the thread. The default writes the message to standard
  /// error as a fatal error, also in release builds, and traps.
  ///
  /// Any thread may read and replace the hook. A trap in progress keeps the hook with which it started.
  package static var hook: Hook {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  /// Calls the hook. The caller must not hold a lock, because the hook is unknown code.
  package static func trap(_ message: String) -> Never {
    let hook = self.hook
    hook(message)
  }

  // MARK: Recording

  /// The first misuse in a call of `recording`. Only one thread uses it.
  private final class Record {
    var message: String?
    /// The record of the call around this one.
    let outer: Record?

    init(in outer: Record?) { self.outer = outer }
  }

  private static var recordKey: NSString { "dugout.misuse" }

  /// The number of calls of `recording` on all threads that have not returned. While it is zero, no thread
  /// has a record.
  private static let openRecords = Atomic<Int>(0)

  /// Traps. Within a call of `recording` on this thread, records the message instead and returns. The caller
  /// then continues with a placeholder whose later uses fail.
  package static func report(_ message: String) {
    guard let record = Thread.current.threadDictionary[recordKey] as? Record else { trap(message) }
    record.message = record.message ?? message
  }

  /// The first misuse so far in the calls of `recording` on this thread, from the innermost call outwards;
  /// nil outside of such a call. A value that exists after a misuse may be a placeholder.
  package static var reported: String? {
    guard openRecords.load(ordering: .relaxed) > 0 else { return nil }
    var record = Thread.current.threadDictionary[recordKey] as? Record
    while let open = record {
      if let message = open.message { return message }
      record = open.outer
    }
    return nil
  }

  /// Calls `body`, and returns its result together with the first misuse that `body` reported. Applies to
  /// this thread only: neither to other threads nor to tasks that `body` starts. Calls can be nested.
  package static func recording<Value>(
    _ body: () throws -> Value
  ) -> (result: Result<Value, any Error>, misuse: String?) {
    let values = Thread.current.threadDictionary
    let outer = values[recordKey]
    let record = Record(in: outer as? Record)
    values[recordKey] = record
    openRecords.add(1, ordering: .relaxed)
    defer {
      openRecords.subtract(1, ordering: .relaxed)
      values[recordKey] = outer
    }
    let result = Result { try body() }
    return (result, record.message)
  }
}

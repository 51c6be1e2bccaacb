// Where a misuse of the API ends: the one trap of the API band, which a test may replace.

/// The end of a program that broke a rule of the API: a bad path, a bad argument, a wrong state.
///
/// The original raises an Objective-C exception here, which Swift cannot catch, so we trap with the
/// original's message. What can go wrong in a correct program is an `NSError` instead, never this.
///
/// Since `trap` never returns, a test observes it in a process of its own. The default hook writes
/// the message to standard error, so most tests need no other:
///
/// ```swift
/// let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
///   _ = Timestamp(seconds: 0, nanoseconds: -1)
/// }
/// ```
///
/// One that wants more than the text replaces the hook first thing inside that closure:
///
/// ```swift
/// await #expect(processExitsWith: .exitCode(42)) {
///   ProgrammerError.hook = { message in exit(message.isEmpty ? 1 : 42) }
///   _ = Timestamp(seconds: 0, nanoseconds: -1)
/// }
/// ```
package enum ProgrammerError {
  package typealias Hook = @Sendable (String) -> Never

  private static let current = Guarded<Hook>({ message in fatalError(message) })

  /// Ends the process, or at least the thread. The default writes the message to standard error as a
  /// fatal error, in release builds too, and traps.
  ///
  /// Any thread may read and replace it; a trap under way keeps the hook it began with.
  package static var hook: Hook {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  /// Call it without holding a lock: the hook is code that we do not know.
  package static func trap(_ message: String) -> Never {
    let hook = self.hook
    hook(message)
  }
}

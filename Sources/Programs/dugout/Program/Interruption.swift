// Signals that end a command cleanly: a handler sets a flag, and the command checks the flag between two
// steps.

import Foundation
import Synchronization

/// Catches signals during the lifetime of the object. Signals belong to the process, so at most one object
/// may catch each signal; objects for different signals are independent.
final class Interruption: Sendable {
  /// The signals that have been received, one bit each.
  private static let come = Atomic<UInt64>(0)
  /// The signals whose second occurrence ends the process, one bit each.
  private static let endingSignals = Atomic<UInt64>(0)

  /// The previous handlers, as the bits of a function pointer.
  private let previous: [(number: Int32, handler: Int)]
  /// The signals of this object, one bit each.
  private let mask: UInt64

  /// Installs the handlers. With `waits`, further signals have no effect. Without `waits`, a second signal of
  /// any of the given kinds ends the process at once. A signal that the parent process ignores, as under
  /// nohup, stays ignored.
  init(by signals: [Int32], waits: Bool = true) {
    previous = signals.map { ($0, Self.current($0)) }.filter { $0.1 != Self.bits(SIG_IGN) }
    mask = previous.reduce(0) { $0 | Self.bit($1.number) }
    // The static variables are accessed here first, because a signal handler must not initialize them.
    Self.come.bitwiseAnd(~mask, ordering: .relaxed)
    Self.endingSignals.bitwiseAnd(~mask, ordering: .relaxed)
    if !waits { Self.endingSignals.bitwiseOr(mask, ordering: .relaxed) }
    for (number, _) in previous {
      signal(number) { number in
        Interruption.come.bitwiseOr(Interruption.bit(number), ordering: .relaxed)
        let endingSignals = Interruption.endingSignals.load(ordering: .relaxed)
        guard endingSignals & Interruption.bit(number) != 0 else { return }
        for other in 1..<Int32(64) where endingSignals & Interruption.bit(other) != 0 {
          signal(other, SIG_DFL)
        }
      }
    }
  }

  deinit {
    for (number, handler) in previous { signal(number, Self.handler(handler)) }
    Self.endingSignals.bitwiseAnd(~mask, ordering: .relaxed)
  }

  var isSignaled: Bool { Self.come.load(ordering: .relaxed) & mask != 0 }

  private typealias Handler = @convention(c) (Int32) -> Void

  private static func bit(_ number: Int32) -> UInt64 { 1 << UInt64(number) }

  /// Returns the current handler. Reads the handler without replacing it, so that a concurrent signal is not
  /// lost.
  private static func current(_ number: Int32) -> Int {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return bits(SIG_IGN) }
    // The handler is the first member of the structure; the member's name differs between systems.
    return withUnsafeBytes(of: &action) { $0.load(as: Int.self) }
  }

  /// SIG_DFL and SIG_IGN are small numbers, and one of them is the null pointer. An optional C function
  /// pointer has the size of an `Int` on all systems, so the casts change no bit.
  private static func bits(_ handler: Handler?) -> Int { unsafeBitCast(handler, to: Int.self) }

  private static func handler(_ bits: Int) -> Handler? { unsafeBitCast(bits, to: Handler?.self) }
}

// Signals that end a command in good order: a question that is asked between two steps.

import Foundation
import Synchronization

/// For each signal one at a time: signals come to the process. Those of other signals know nothing of each other.
final class Interruption: Sendable {
  /// A bit for each signal that has come.
  private static let come = Atomic<UInt64>(0)
  /// A bit for each signal that ends the process at once when it comes after another.
  private static let ending = Atomic<UInt64>(0)

  /// What each signal did before, as the bits of a pointer to a function.
  private let previous: [(number: Int32, handler: Int)]
  /// A bit for each of them.
  private let mask: UInt64

  /// `waits` if no further signal does more; else the second one, of whatever kind, ends the process at once, for who
  /// cannot wait. A signal that the parent has set to be ignored, as nohup does, stays so.
  init(by signals: [Int32], waits: Bool = true) {
    previous = signals.map { ($0, Self.current($0)) }.filter { $0.1 != Self.bits(SIG_IGN) }
    mask = previous.reduce(0) { $0 | Self.bit($1.number) }
    // Made here: the handler does nothing but note that it was called.
    Self.come.bitwiseAnd(~mask, ordering: .relaxed)
    Self.ending.bitwiseAnd(~mask, ordering: .relaxed)
    if !waits { Self.ending.bitwiseOr(mask, ordering: .relaxed) }
    for (number, _) in previous {
      signal(number) { number in
        Interruption.come.bitwiseOr(Interruption.bit(number), ordering: .relaxed)
        let ending = Interruption.ending.load(ordering: .relaxed)
        guard ending & Interruption.bit(number) != 0 else { return }
        for other in 1..<Int32(64) where ending & Interruption.bit(other) != 0 { signal(other, SIG_DFL) }
      }
    }
  }

  deinit {
    for (number, handler) in previous { signal(number, Self.handler(handler)) }
    Self.ending.bitwiseAnd(~mask, ordering: .relaxed)
  }

  var hasCome: Bool { Self.come.load(ordering: .relaxed) & mask != 0 }

  private typealias Handler = @convention(c) (Int32) -> Void

  private static func bit(_ number: Int32) -> UInt64 { 1 << UInt64(number) }

  /// What the signal does now. Asked, and not found out by a change: one that comes meanwhile is not lost.
  private static func current(_ number: Int32) -> Int {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return bits(SIG_IGN) }
    // The handler is the first member, under a name that differs from system to system.
    return withUnsafeBytes(of: &action) { $0.load(as: Int.self) }
  }

  /// Two of the handlers are small numbers, and one of them is none at all. A pointer to a C function that may be none
  /// is one word, as an `Int` is, on all systems: the casts change no bit.
  private static func bits(_ handler: Handler?) -> Int { unsafeBitCast(handler, to: Int.self) }

  private static func handler(_ bits: Int) -> Handler? { unsafeBitCast(bits, to: Handler?.self) }
}

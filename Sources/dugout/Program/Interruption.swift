// Signals that end a command in good order: a question that is asked between two steps.

import Foundation
import Synchronization

/// One at a time: signals come to the process.
final class Interruption: Sendable {
  private static let count = Atomic<Int>(0)

  private let signals: [Int32]

  /// `waits` if no further signal does more; else the second one ends the process at once, for who cannot wait.
  init(by signals: [Int32], waits: Bool = true) {
    self.signals = signals
    // Made here: the handler does nothing but note that it was called.
    Self.count.store(0, ordering: .relaxed)
    for number in signals {
      guard !waits else {
        signal(number) { _ in Interruption.count.store(1, ordering: .relaxed) }
        continue
      }
      signal(number) { number in
        Interruption.count.store(1, ordering: .relaxed)
        signal(number, SIG_DFL)
      }
    }
  }

  deinit {
    for number in signals { signal(number, SIG_DFL) }
  }

  var hasCome: Bool { Self.count.load(ordering: .relaxed) > 0 }
}

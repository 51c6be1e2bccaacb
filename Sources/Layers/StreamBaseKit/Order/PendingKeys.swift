// The keys that a batch will be about.

import LayerKit

struct PendingKeys {
  private var keys: [ExactKey] = []
  private var seen = Set<ExactKey>()
  /// A batch is due even if it is about no key.
  private(set) var isDue = false

  mutating func insert(_ key: ExactKey) {
    isDue = true
    if seen.insert(key).inserted { keys.append(key) }
  }

  func contains(_ key: ExactKey) -> Bool { seen.contains(key) }

  mutating func makeDue() { isDue = true }

  /// Forgets them, and returns them in the order in which they came.
  mutating func take() -> [ExactKey] {
    defer { self = PendingKeys() }
    return keys
  }
}

// The keys of the next batch.

import LayerKit

struct PendingKeys {
  private var keys: [ExactKey] = []
  private var seen = Set<ExactKey>()
  /// A batch can be due without any key.
  private(set) var isDue = false

  mutating func insert(_ key: ExactKey) {
    isDue = true
    if seen.insert(key).inserted { keys.append(key) }
  }

  func contains(_ key: ExactKey) -> Bool { seen.contains(key) }

  mutating func makeDue() { isDue = true }

  /// Returns the keys in insertion order, and removes them.
  mutating func take() -> [ExactKey] {
    defer { self = PendingKeys() }
    return keys
  }
}

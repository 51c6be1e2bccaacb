// The keys whose changes the next batch delivers.

import LayerKit

struct PendingKeys {
  private var keys: [ExactKey] = []
  private var seen = Set<ExactKey>()
  /// Whether a batch is due. A batch can be due even if there are no keys.
  private(set) var isDue = false

  mutating func insert(_ key: ExactKey) {
    isDue = true
    if seen.insert(key).inserted { keys.append(key) }
  }

  func contains(_ key: ExactKey) -> Bool { seen.contains(key) }

  mutating func makeDue() { isDue = true }

  /// Returns the keys in insertion order, and clears them.
  mutating func take() -> [ExactKey] {
    defer { self = PendingKeys() }
    return keys
  }
}

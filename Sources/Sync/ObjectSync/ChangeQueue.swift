// The pending object changes in memory: indexed by number, iterated in order.

internal import DocumentStore
import ObjectStore
import OfflineSync

struct ChangeQueue {
  private var changes: [Int64: QueuedChange] = [:]
  /// All numbers in order. Removed numbers are skipped, and are dropped once they are half of all numbers.
  private var numbers: [Int64] = []
  /// All numbers before this index have been removed.
  private var start = 0

  /// `changes` must be in the order of their numbers.
  init(_ changes: [QueuedChange]) { for change in changes { append(change) } }

  /// The number must be greater than all others.
  mutating func append(_ change: QueuedChange) {
    numbers.append(change.number)
    changes[change.number] = change
  }

  subscript(number: Int64) -> QueuedChange? { changes[number] }

  mutating func remove(_ number: Int64) {
    guard changes.removeValue(forKey: number) != nil else { return }
    while start < numbers.count, changes[numbers[start]] == nil { start += 1 }
    guard numbers.count > 2 * changes.count else { return }
    numbers.removeAll { changes[$0] == nil }
    start = 0
  }

  var first: QueuedChange? { first(where: { _ in true }) }

  /// Stops at the first match.
  func first(where predicate: (QueuedChange) -> Bool) -> QueuedChange? {
    for number in numbers[start...] {
      if let change = changes[number], predicate(change) { return change }
    }
    return nil
  }

  var last: Int64? { numbers.last { changes[$0] != nil } }
}

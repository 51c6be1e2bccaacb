// A set of values under the equality of the value order: 1 equals 1.0.

struct ValueSet {
  private let sorted: [StoredValue]

  init(_ values: [StoredValue]) {
    sorted = values.sorted { ValueOrder.compare($0, $1) == .before }
  }

  func contains(_ value: StoredValue) -> Bool {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      switch ValueOrder.compare(sorted[middle], value) {
      case .same: return true
      case .before: low = middle + 1
      case .after: high = middle
      }
    }
    return false
  }
}

extension [StoredValue] {
  /// With fewer values than this, comparing each with all others is faster than sorting the others.
  private static let scannedMax = 8

  func without(_ others: [StoredValue]) -> [StoredValue] {
    guard count > Self.scannedMax else {
      return filter { value in !others.contains { ValueOrder.areEqual($0, value) } }
    }
    let others = ValueSet(others)
    return filter { !others.contains($0) }
  }

  /// Keeps the first of each group of equal values.
  var deduplicated: [StoredValue] {
    let order = indices.sorted { left, right in
      switch ValueOrder.compare(self[left], self[right]) {
      case .before: true
      case .same: left < right
      case .after: false
      }
    }
    var isRepeated = [Bool](repeating: false, count: count)
    for (earlier, later) in zip(order, order.dropFirst()) {
      isRepeated[later] = ValueOrder.areEqual(self[earlier], self[later])
    }
    return zip(self, isRepeated).filter { !$0.1 }.map(\.0)
  }
}

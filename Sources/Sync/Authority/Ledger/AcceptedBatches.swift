// The numbers of the batches of a run that were accepted.
//
// Invariants:
//   - The ranges ascend, and there is a gap between two of them. A gap is a batch that was rejected or
//     cancelled, or that has not come yet.
//   - All batches below the floor are answered. Those that are in no range were not accepted.
//   - A number that is dropped from the ranges is below the floor, so its batch can never be applied again.

internal import OfflineSync

struct AcceptedBatches: Equatable, Sendable {
  /// With more ranges than this, the oldest is dropped.
  static let rangesMax = 1000

  private(set) var ranges: [ClosedRange<Int64>] = []
  private(set) var floor: Int64 = .min

  init() {}

  /// Creates the batches from the ends of ranges, in any order.
  init(ends: [Int64], floor: Int64) {
    self.floor = floor
    for place in stride(from: 0, to: ends.count - 1, by: 2) where ends[place] <= ends[place + 1] {
      ranges.append(ends[place]...ends[place + 1])
    }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    merge()
  }

  var ends: [Int64] { ranges.flatMap { [$0.lowerBound, $0.upperBound] } }

  func contains(_ batch: BatchID) -> Bool {
    let place = firstRange(endingAtOrAfter: batch.value)
    return place < ranges.count && ranges[place].contains(batch.value)
  }

  /// Whether a batch that was not accepted can still come for the first time.
  func isOpen(_ batch: BatchID) -> Bool { batch.value >= floor }

  mutating func insert(_ batch: BatchID) {
    let number = batch.value
    let place = firstRange(endingAtOrAfter: number)
    if place < ranges.count, ranges[place].contains(number) { return }
    // Batches usually come in order, and continue the last range.
    if place > 0, ranges[place - 1].upperBound == number - 1 {
      ranges[place - 1] = ranges[place - 1].lowerBound...number
      if place < ranges.count { mergeRange(at: place - 1) }
    } else {
      ranges.insert(number...number, at: place)
      if place + 1 < ranges.count { mergeRange(at: place) }
    }
    keep(Self.rangesMax)
  }

  /// Raises the floor to the first batch whose answer the client has not received.
  mutating func pass(_ firstOpen: BatchID) { floor = max(floor, firstOpen.value) }

  /// Drops all ranges but the last ones.
  mutating func keep(_ count: Int) {
    guard ranges.count > count else { return }
    let dropped = ranges.prefix(ranges.count - count)
    // A range after the last dropped one exists, so the number has a successor.
    if let last = dropped.last { floor = max(floor, last.upperBound + 1) }
    ranges.removeFirst(dropped.count)
  }

  private func firstRange(endingAtOrAfter number: Int64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func merge() {
    var place = 0
    while place + 1 < ranges.count { if !mergeRange(at: place) { place += 1 } }
  }

  /// Merges a range with the next one if no number is between them. Returns false if there is a gap.
  @discardableResult private mutating func mergeRange(at place: Int) -> Bool {
    let (first, second) = (ranges[place], ranges[place + 1])
    guard first.upperBound == .max || second.lowerBound <= first.upperBound + 1 else { return false }
    ranges[place] = first.lowerBound...max(first.upperBound, second.upperBound)
    ranges.remove(at: place + 1)
    return true
  }
}

// The first documents of an answer whose order no index has, out of all that match, as they come.
//
// No more is kept than twice what the limit asks for: then what cannot be among the first goes. The last that would be
// in tells from then on what need not be kept at all.

struct FirstMatches {
  private static let keptMin = 64

  private let limit: Int
  private var found: [(key: [UInt8], ordinal: UInt32)] = []
  /// The key of the last that would be in, if there are as many as the limit.
  private var last: [UInt8]?
  /// The most that were there at a time.
  private(set) var keptMax = 0

  init(limit: Int) { self.limit = limit }

  /// `key` sorts as the answer does, and ends with the document's name: the same key is the same document, and counts
  /// once.
  mutating func add(_ key: [UInt8], _ ordinal: UInt32) {
    if let last, !key.precedes(last) { return }
    found.append((key, ordinal))
    keptMax = max(keptMax, found.count)
    if found.count >= max(Self.keptMin, limit < .max / 2 ? 2 * limit : .max) { cut() }
  }

  /// The first ones, in order.
  mutating func ordinals() -> [UInt32] {
    cut()
    return found.map(\.ordinal)
  }

  private mutating func cut() {
    found.sort { $0.key.precedes($1.key) }
    var kept = 0
    for place in found.indices where kept == 0 || found[kept - 1].key != found[place].key {
      found.swapAt(kept, place)
      kept += 1
    }
    found.removeLast(found.count - min(kept, limit))
    last = found.count == limit ? found.last?.key : nil
  }
}

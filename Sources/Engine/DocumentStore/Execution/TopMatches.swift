// Selects the first `limit` matches when no index has them in query order.
//
// Keeps at most twice as many matches as the limit, or 64 if that is more. At this size, the matches after
// the limit are dropped, and the last remaining key becomes the threshold for further matches.

struct TopMatches {
  private static let keptMin = 64

  private let limit: Int
  private var found: [(key: [UInt8], ordinal: UInt32)] = []
  /// The key of the last match within the limit, once the limit is reached.
  private var last: [UInt8]?
  /// Largest number of matches that were kept at once.
  private(set) var keptPeak = 0
  /// The memory of the kept matches.
  private(set) var bytes = 0
  /// The memory that a match takes in addition to the bytes of its key.
  private static let bytesPerMatch = 80

  init(limit: Int) { self.limit = limit }

  /// Adds a match. `key` sorts in query order and ends with the document's name, so equal keys belong to one
  /// document, which is counted once.
  mutating func add(_ key: [UInt8], _ ordinal: UInt32) {
    if let last, !key.precedes(last) { return }
    found.append((key, ordinal))
    bytes += key.count + Self.bytesPerMatch
    keptPeak = max(keptPeak, found.count)
    if found.count >= max(Self.keptMin, limit < .max / 2 ? 2 * limit : .max) { cut() }
  }

  /// Returns the ordinals of the first matches, in query order.
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
    bytes = found.reduce(0) { $0 + $1.key.count + Self.bytesPerMatch }
    last = found.count == limit ? found.last?.key : nil
  }
}

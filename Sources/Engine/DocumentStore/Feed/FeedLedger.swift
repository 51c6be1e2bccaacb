// Which entries the change feed has, and who still needs them.
//
// Invariants:
//   - Numbers follow the order of commits. A commit that was refused leaves a gap, which is passed over.
//   - Entries from `first` on and before `next` are there, but for gaps and for those under way; none before.
//   - Without consumers no entry is made.
//   - Numbers and sums of bytes stay far below what a word holds: what a disk says is held against that once, and
//     they grow by one for each commit.

import ByteStore

struct FeedLedger: Sendable {
  /// How far each consumer has come: the last entry that it will not ask for again.
  var consumers: [String: UInt64] = [:]
  private(set) var first: UInt64 = 1
  private(set) var next: UInt64 = 1
  /// Of all entries.
  private(set) var bytes: UInt64 = 0
  /// Entries of commits that are neither seen nor refused yet.
  private(set) var underWay = 0

  private static let entriesBetweenTrims: UInt64 = 256
  /// No count gets there: a million commits in each second would take 146 000 years.
  private static let countMax: UInt64 = 1 << 62

  init() {}

  var isActive: Bool { !consumers.isEmpty }

  /// Nobody needs those before this one.
  var firstNeeded: UInt64 { consumers.values.min().map { $0 + 1 } ?? next }

  /// It is time to look at the bounds.
  var isTrimDue: Bool { next % Self.entriesBetweenTrims == 0 }

  /// A number for the next entry.
  mutating func add(bytes count: Int) -> UInt64 {
    defer { next += 1 }
    bytes += UInt64(count)
    underWay += 1
    return next
  }

  /// The commit of an entry can be seen now, or was refused, and its entry with it.
  mutating func settle(bytes count: Int, hasHappened: Bool) {
    underWay -= 1
    if !hasHappened { bytes -= min(bytes, UInt64(count)) }
  }

  /// How many bytes went. What a store says may count entries of commits that were refused: with the last entry all of
  /// them go.
  mutating func drop(through number: UInt64, bytes count: UInt64, isLast: Bool) -> UInt64 {
    first = max(first, number + 1)
    let gone = isLast ? bytes : min(bytes, count)
    bytes -= gone
    return gone
  }

  /// What was to be dropped is still there.
  mutating func takeBack(from number: UInt64, bytes count: UInt64) {
    first = min(first, number)
    bytes += count
  }

  // MARK: In the store

  var state: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: FeedFormat.version)
    for number in [first, next, self.bytes] { bytes.append(littleEndian: number) }
    return bytes
  }

  var encodedConsumers: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: FeedFormat.version)
    bytes.append(littleEndian: UInt16(consumers.count))
    for (name, acknowledged) in consumers.sorted(by: { $0.key < $1.key }) {
      FeedFormat.append(name, to: &bytes)
      bytes.append(littleEndian: acknowledged)
    }
    return bytes
  }

  /// Nil for bytes that are none.
  init?(state: [UInt8]?, consumers: [UInt8]?) {
    if let state {
      guard let end = Self.end(of: state) else { return nil }
      (first, next, bytes) = end
    }
    guard let consumers else { return }
    var reader = ByteReader(consumers.rawSpan)
    guard reader.uint16() == FeedFormat.version, let count = reader.uint16() else { return nil }
    for _ in 0..<count {
      guard let name = FeedFormat.text(&reader), let acknowledged = reader.uint64(),
        acknowledged < Self.countMax
      else { return nil }
      // It may have acknowledged a number whose commit was refused: then it has seen all there is.
      self.consumers[name] = min(acknowledged, next - 1)
    }
    guard reader.bytesLeft == 0 else { return nil }
  }

  /// What the store says of the entries that readers can see.
  static func end(of state: [UInt8]) -> (first: UInt64, next: UInt64, bytes: UInt64)? {
    var reader = ByteReader(state.rawSpan)
    guard reader.uint16() == FeedFormat.version, let first = reader.uint64(), let next = reader.uint64(),
      let bytes = reader.uint64(), 0 < first, first <= next, next < Self.countMax, bytes < Self.countMax,
      reader.bytesLeft == 0
    else { return nil }
    return (first, next, bytes)
  }
}

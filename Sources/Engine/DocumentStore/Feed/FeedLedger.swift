// Bookkeeping of the change feed: which entries exist, and which consumers still need them.
//
// Invariants:
//   - Entry numbers ascend in commit order. A refused commit leaves a gap, which readers skip.
//   - All entries from `first` to before `next` exist, except gaps and entries of commits in progress. None
//     exists before `first`.
//   - Without consumers, no entries are written.
//   - Numbers and byte counts cannot overflow: values read from disk are checked once, and each commit adds
//     little.

import ByteStore

struct FeedLedger: Sendable {
  /// For each consumer, the last entry that it has acknowledged.
  var consumers: [String: UInt64] = [:]
  private(set) var first: UInt64 = 1
  private(set) var next: UInt64 = 1
  /// Total size of all entries.
  private(set) var bytes: UInt64 = 0
  /// Entries of commits that have neither completed nor failed.
  private(set) var inProgress = 0

  private static let entriesBetweenTrims: UInt64 = 256
  /// Unreachable: at a million commits per second, it would take 146 000 years.
  private static let countMax: UInt64 = 1 << 62

  init() {}

  var isActive: Bool { !consumers.isEmpty }

  /// The first entry that a consumer still needs.
  var firstNeeded: UInt64 { consumers.values.min().map { $0 + 1 } ?? next }

  /// True if it is time to check the feed's limits.
  var isTrimDue: Bool { next % Self.entriesBetweenTrims == 0 }

  /// Assigns a number to the next entry.
  mutating func add(bytes count: Int) -> UInt64 {
    defer { next += 1 }
    bytes += UInt64(count)
    inProgress += 1
    return next
  }

  /// Completes an entry: its commit is visible, or it failed and the entry does not exist.
  mutating func complete(bytes count: Int, succeeded: Bool) {
    inProgress -= 1
    if !succeeded { bytes -= min(bytes, UInt64(count)) }
  }

  /// Records that entries were dropped. Returns the number of bytes removed. The count on disk may include
  /// entries of refused commits; dropping the last entry corrects it to zero.
  mutating func drop(through number: UInt64, bytes count: UInt64, isLast: Bool) -> UInt64 {
    first = max(first, number + 1)
    let gone = isLast ? bytes : min(bytes, count)
    bytes -= gone
    return gone
  }

  /// Undoes `drop` after the commit that was to delete the entries has failed.
  mutating func rollBackChange(from number: UInt64, bytes count: UInt64) {
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

  /// Nil if the bytes are invalid.
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
      // The acknowledged entry may belong to a refused commit. The consumer has then seen all entries.
      self.consumers[name] = min(acknowledged, next - 1)
    }
    guard reader.bytesLeft == 0 else { return nil }
  }

  /// Decodes the stored range and size of the visible entries.
  static func end(of state: [UInt8]) -> (first: UInt64, next: UInt64, bytes: UInt64)? {
    var reader = ByteReader(state.rawSpan)
    guard reader.uint16() == FeedFormat.version, let first = reader.uint64(), let next = reader.uint64(),
      let bytes = reader.uint64(), 0 < first, first <= next, next < Self.countMax, bytes < Self.countMax,
      reader.bytesLeft == 0
    else { return nil }
    return (first, next, bytes)
  }
}

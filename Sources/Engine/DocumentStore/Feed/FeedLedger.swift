// Bookkeeping of the change feed: which entries exist, and which consumers still need them.
//
// Invariants:
//   - Entry numbers ascend in commit order. A refused commit leaves a gap, which readers skip.
//   - All entries from `first` up to but not including `next` exist, except for gaps and for the entries of
//     commits in progress. No entry before `first` exists.
// - Without consumers and followers, the feed is inactive: no entries are written, and commits get no number.
//     When the feed becomes active again, it skips a number. The positions before that number are then
//     truncated, because the feed lacks the commits of the time in between.
//   - Numbers and byte counts cannot overflow. They are checked when they are read from disk, and each commit
//     increases them only a little.

import ByteStore

struct FeedLedger: Sendable {
  /// For each consumer, the last entry that it has acknowledged.
  var consumers: [String: UInt64] = [:]
  /// For each follower, the last entry that it does not need again. Followers exist only in memory.
  var followers: [UInt64: UInt64] = [:]
  private(set) var first: UInt64 = 1
  private(set) var next: UInt64 = 1
  /// Total size of all entries.
  private(set) var bytes: UInt64 = 0
  /// Entries of commits that have neither completed nor failed.
  private(set) var inProgress = 0
  /// Whether the feed has been active before, in this or an earlier open.
  private var hasBeenActive = false

  private static let entriesBetweenTrims: UInt64 = 256
  /// The exclusive upper limit of valid numbers. A store cannot reach it: at a million commits per second,
  /// that would take 146 000 years.
  private static let countMax: UInt64 = 1 << 62

  init() {}

  var isActive: Bool { !consumers.isEmpty || !followers.isEmpty }

  /// The position of the last entry; nil if the feed is inactive.
  var lastPosition: FeedPosition? { isActive ? FeedPosition(next - 1) : nil }

  /// The first entry that a consumer or a follower still needs.
  var firstNeeded: UInt64 {
    [consumers.values.min(), followers.values.min()].compactMap { $0 }.min().map { $0 + 1 } ?? next
  }

  /// True if it is time to check the feed's limits.
  var isTrimDue: Bool { next % Self.entriesBetweenTrims == 0 }

  /// Prepares an inactive feed without entries for its first reader. Skips a number, unless the feed has
  /// never been active.
  mutating func activate() {
    if hasBeenActive {
      next += 1
      first = next
    }
    hasBeenActive = true
  }

  /// Assigns a number to the next entry.
  mutating func add(bytes count: Int) -> UInt64 {
    defer { next += 1 }
    bytes += UInt64(count)
    inProgress += 1
    return next
  }

  /// Completes an entry. Its commit is then visible, or the commit has failed and the entry does not exist.
  mutating func complete(bytes count: Int, succeeded: Bool) {
    inProgress -= 1
    if !succeeded { bytes -= min(bytes, UInt64(count)) }
  }

  /// Records that entries were dropped, and returns the number of bytes removed. The byte count on disk may
  /// include entries of refused commits. Dropping the last entry corrects the count to zero.
  mutating func drop(through number: UInt64, bytes count: UInt64, isLast: Bool) -> UInt64 {
    first = max(first, number + 1)
    let gone = isLast ? bytes : min(bytes, count)
    bytes -= gone
    return gone
  }

  /// Undoes `drop` after the commit that was supposed to delete the entries has failed.
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

  /// Decodes a stored ledger. Nil if the bytes are invalid.
  init?(state: [UInt8]?, consumers: [UInt8]?) {
    if let state {
      guard let end = Self.end(of: state) else { return nil }
      (first, next, bytes) = end
      hasBeenActive = true
    }
    guard let consumers else { return }
    var reader = ByteReader(consumers.rawSpan)
    guard reader.uint16() == FeedFormat.version, let count = reader.uint16() else { return nil }
    for _ in 0..<count {
      guard let name = FeedFormat.text(&reader), let acknowledged = reader.uint64(),
        acknowledged < Self.countMax
      else { return nil }
      // The acknowledged entry may belong to a refused commit. In that case, the consumer has seen all
      // entries.
      self.consumers[name] = min(acknowledged, next - 1)
    }
    guard reader.bytesLeft == 0 else { return nil }
  }

  /// The position of the last visible entry; nil if there is no stored state or it is damaged.
  static func lastPosition(inState state: [UInt8]?) -> FeedPosition? {
    state.flatMap(end).map { FeedPosition($0.next - 1) }
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

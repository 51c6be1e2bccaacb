// How far a state follows the order of commits.

import ByteStore

/// The last commit that a state includes.
struct CommitMark: Sendable, Equatable {
  /// The number of commits since the store was opened that the state includes.
  var number: UInt64 = 0
  /// The time of the last commit; nil if it is unknown or there was none.
  var time: StoredTimestamp?
  /// The last entry of the change feed; nil if it is unknown or the feed has never been active.
  var feed: FeedPosition?

  init(number: UInt64 = 0, time: StoredTimestamp? = nil, feed: FeedPosition? = nil) {
    self.number = number
    self.time = time
    self.feed = feed
  }

  /// The last commit in a snapshot, which includes `number` commits.
  init(_ snapshot: Snapshot, number: UInt64) {
    self.number = number
    time = snapshot.stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(bitPattern: snapshot.stamp))
    // Damage is reported by the consumers of the feed.
    let state = (try? snapshot.value(for: FeedFormat.stateKey)) ?? nil
    feed = FeedLedger.lastPosition(inState: state)
  }

  /// Moves the mark to a later one. The mark keeps its time and its position in the feed if the later one has
  /// none.
  mutating func advance(to later: CommitMark) {
    guard later.number >= number else { return }
    let before = self
    self = later
    add(before)
  }

  /// Adds what another mark knows. The other mark must not include later commits than this one.
  mutating func add(_ other: CommitMark) {
    time = [time, other.time].compactMap { $0 }.max()
    feed = [feed, other.feed].compactMap { $0 }.max()
  }
}

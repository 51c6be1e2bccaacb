// The change feed: an ordered stream of commits. A consumer can resume the stream after the store was
// reopened.
//
// Each entry is written in the commit that it describes. An entry is kept for at most seven days, and only
// while a registered consumer has not acknowledged it or a follower has not read it. All entries together are
// limited to a tenth of the store's size, or to 4 MiB if that is more.

import ByteStore

extension DocumentStore {
  private static let feedMicrosecondsMax: Int64 = 7 * 86_400 * 1_000_000
  private static let feedBytesMin: UInt64 = 4 << 20
  private static let entriesPerTrim = 500
  /// After this many consecutive numbers without an entry, scan all keys instead of probing more numbers.
  private static let gapMax: UInt64 = 4096
  private static let consumersMax = 1000

  /// Returns the consumer with this name. A new consumer starts with the next commit. A consumer that is
  /// already registered continues after the last commit that it acknowledged.
  public func feedConsumer(_ name: String) throws(DocumentStoreError) -> FeedConsumer {
    guard (1...1000).contains(name.utf8.count) else {
      throw .invalidArgument("The name of a consumer has 1 to 1000 bytes.")
    }
    // Registrations and removals run one at a time.
    return try consumerChanges.withLock { _ throws(DocumentStoreError) in
      if let position = try registered(name) { return FeedConsumer(name, of: self, from: position) }
      return FeedConsumer(name, of: self, from: try register(name))
    }
  }

  private func registered(_ name: String) throws(DocumentStoreError) -> UInt64? {
    let consumers = pipeline.feed.consumers
    guard let place = consumers.index(forKey: name) else { return nil }
    try NameCheck.requireSame(consumers[place].key, name, what: "A consumer")
    return consumers[place].value
  }

  private func register(_ name: String) throws(DocumentStoreError) -> UInt64 {
    let count = pipeline.feed.consumers.count
    guard count < Self.consumersMax else {
      throw .invalidArgument(
        "The store has \(count) consumers, and there is no room for more. Unregister one first.")
    }
    var position: UInt64 = 0
    do throws(DocumentStoreError) {
      // Every later commit writes an entry, even while this registration is still being committed.
      try addReader { feed in
        position = feed.next - 1
        feed.consumers[name] = position
      }
    } catch {
      pipeline.withFeed { $0.consumers[name] = nil }
      throw error
    }
    return position
  }

  /// Commits a new consumer or follower, and activates the feed if it is the first one. The caller holds
  /// `consumerChanges`, so an inactive feed gets no other reader meanwhile. If the commit fails, the caller
  /// undoes `add`.
  func addReader(_ add: (inout FeedLedger) -> Void) throws(DocumentStoreError) {
    while true {
      let before = pipeline.feed
      if !before.isActive {
        // Only a crash leaves entries in an inactive feed, and commits that began when it was active.
        if before.inProgress > 0 { pipeline.waitForCommitsInProgress() }
        try trimFeed()
      }
      var isAdded = false
      try pipeline.write { feed in
        if !feed.isActive {
          guard feed.inProgress == 0, feed.next == before.next else { return [] }
          feed.activate()
        }
        add(&feed)
        isAdded = true
        return [(FeedFormat.consumersKey, feed.encodedConsumers), (FeedFormat.stateKey, feed.state)]
      }
      if isAdded { return }
    }
  }

  /// The names of all consumers.
  public var feedConsumers: [String] { pipeline.feed.consumers.keys.sorted() }

  func unregister(_ name: String) throws(DocumentStoreError) {
    try change(name) { _, _ in nil }
    // If trimming fails, it is retried after a later commit that writes an entry, or when another consumer
    // acknowledges commits or is removed.
    try? trimFeed()
  }

  func acknowledge(_ number: UInt64, by name: String) throws(DocumentStoreError) {
    try change(name) { known, feed in min(max(known, number), feed.next - 1) }
    try? trimFeed()
  }

  /// Moves or removes a consumer. The change takes effect once it is durable. Until then, the feed keeps
  /// every entry that the consumer could still need.
  private func change(
    _ name: String, _ position: (_ known: UInt64, FeedLedger) -> UInt64?
  ) throws(DocumentStoreError) {
    try consumerChanges.withLock { _ throws(DocumentStoreError) in
      var changed: UInt64?
      try pipeline.write { feed in
        guard let known = feed.consumers[name] else { return [] }
        var later = feed
        changed = position(known, feed)
        later.consumers[name] = changed
        return [(FeedFormat.consumersKey, later.encodedConsumers)]
      }
      pipeline.withFeed { $0.consumers[name] = changed }
    }
  }

  // MARK: Reading

  /// Returns the commits after a position, and the position of the last one returned. Stops after the entry
  /// with which the size of the entries reaches `bytesMax`.
  func changes(
    after position: UInt64, max count: Int, bytesMax: Int = .max
  ) throws(DocumentStoreError) -> (commits: [FeedCommit], end: UInt64) {
    // The range of numbers that readers can see. If a number in this range has no entry now, it will never
    // have one.
    guard let state = try value(FeedFormat.stateKey) else { return ([], position) }
    guard let seen = FeedLedger.end(of: state) else { throw feedDamage("the state of the change feed") }
    guard position < seen.next - 1 else { return ([], position) }
    var commits: [FeedCommit] = []
    var number = position + 1
    var bytes = 0
    while commits.count < count, bytes < bytesMax {
      guard let (place, entry) = try entry(from: number, before: seen.next) else {
        number = max(number, seen.next)
        break
      }
      guard let commit = FeedFormat.decode(entry, at: FeedPosition(place), shapes: indexes.shapes.table)
      else {
        throw feedDamage("an entry of the change feed")
      }
      commits.append(commit)
      bytes += entry.count
      number = place + 1
    }
    let first = pipeline.feed.first
    guard position + 1 >= first else {
      throw .feedTruncated(
        "The change feed begins with commit \(first), and commit \(position + 1) was asked for: it is not kept any "
          + "more.")
    }
    return (commits, number - 1)
  }

  /// Reads commits for consumers that keep their position themselves.
  package func feedChanges(
    after position: FeedPosition, max count: Int, bytesMax: Int = .max
  ) throws(DocumentStoreError) -> (commits: [FeedCommit], end: FeedPosition) {
    let (commits, end) = try changes(after: position.value, max: count, bytesMax: bytesMax)
    return (commits, FeedPosition(end))
  }

  /// The position before the oldest commit that is kept, and the position of the last visible commit.
  package func feedRange() throws(DocumentStoreError) -> (oldest: FeedPosition, newest: FeedPosition) {
    guard let state = try value(FeedFormat.stateKey) else { return (.start, .start) }
    guard let seen = FeedLedger.end(of: state) else { throw feedDamage("the state of the change feed") }
    let newest = seen.next - 1
    return (FeedPosition(min(pipeline.feed.first - 1, newest)), FeedPosition(newest))
  }

  /// The time of the commit at a position; nil if the feed has no entry there.
  package func feedTime(at position: FeedPosition) throws(DocumentStoreError) -> StoredTimestamp? {
    guard let entry = try value(FeedFormat.key(position.value)) else { return nil }
    guard let time = FeedFormat.time(of: entry.rawSpan) else {
      throw feedDamage("an entry of the change feed")
    }
    return time
  }

  /// The last commit that a consumer has acknowledged; nil if no consumer has this name.
  package func feedPosition(ofConsumer name: String) -> FeedPosition? {
    pipeline.feed.consumers[name].map { FeedPosition($0) }
  }

  /// The first entry in a range of numbers; nil if there is none. Refused commits leave gaps, and a forged
  /// store can claim any range. Therefore the work is bounded by the number of existing keys.
  private func entry(
    from first: UInt64, before end: UInt64
  ) throws(DocumentStoreError) -> (number: UInt64, entry: [UInt8])? {
    var number = first
    while number < end {
      if let entry = try value(FeedFormat.key(number)) { return (number, entry) }
      number += 1
      guard number - first == Self.gapMax else { continue }
      guard let next = try leastEntry(from: number, before: end) else { return nil }
      number = next
      return try value(FeedFormat.key(number)).map { (number, $0) }
    }
    return nil
  }

  private func leastEntry(from first: UInt64, before end: UInt64) throws(DocumentStoreError) -> UInt64? {
    let (snapshot, _) = try byteSnapshot {}
    var least: UInt64?
    try readAll(snapshot) { _, key, _ in
      guard let number = FeedFormat.number(of: key), first <= number, number < least ?? end else { return }
      least = number
    }
    return least
  }

  private func value(_ key: [UInt8]) throws(DocumentStoreError) -> [UInt8]? {
    try translatingErrors { () throws(ByteStoreError) in try bytes.value(for: key) }
  }

  func feedDamage(_ what: String) -> DocumentStoreError {
    DocumentStoreError(.corrupted(Damage(file: path, offset: 0, expected: what, found: "something else")))
  }

  // MARK: Bounds

  /// Removes entries that no consumer needs, and entries beyond the limits.
  func trimFeed() throws(DocumentStoreError) {
    try trimming.withLock { _ throws(DocumentStoreError) in
      let budget = max(Self.feedBytesMin, liveBytes / 10)
      while try trimOnce(budget) {}
    }
  }

  /// Approximate size of the data in use. Replaced data that compaction has not reclaimed is not counted.
  package var approximateBytes: UInt64 { liveBytes }

  private var liveBytes: UInt64 {
    let statistics = bytes.statistics
    return statistics.segments.liveBytes + UInt64(statistics.memtableBytes)
  }

  /// Removes one batch of entries. Returns false if nothing is left to remove.
  private func trimOnce(_ budget: UInt64) throws(DocumentStoreError) -> Bool {
    let feed = pipeline.feed
    // Keep the entries that readers cannot see yet, because they belong to commits in progress.
    guard let state = try value(FeedFormat.stateKey), let seen = FeedLedger.end(of: state) else {
      return false
    }
    let (past, overflow) = clock.wallMicroseconds().subtractingReportingOverflow(Self.feedMicrosecondsMax)
    let oldest = overflow ? .min : past
    var keys: [[UInt8]] = []
    var dropped: UInt64 = 0
    var first = feed.first
    var isLast = false
    while keys.count < Self.entriesPerTrim {
      guard let (number, entry) = try entry(from: first, before: seen.next) else {
        isLast = true
        // Only gaps are left. Do not move the start of the feed beyond the first number that a consumer still
        // needs, because a gap would then be reported as truncated.
        first = max(first, min(seen.next, feed.firstNeeded))
        break
      }
      let isOver = feed.bytes - min(feed.bytes, dropped) > budget
      let isOld = FeedFormat.time(of: entry.rawSpan).map { $0.microseconds < oldest } ?? false
      guard number < feed.firstNeeded || isOver || isOld else { break }
      keys.append(FeedFormat.key(number))
      dropped += UInt64(entry.count)
      first = number + 1
    }
    guard !keys.isEmpty || first - feed.first >= Self.gapMax else { return false }
    var gone: UInt64?
    do throws(DocumentStoreError) {
      try pipeline.write(removing: keys) { [first, isLast] now in
        // Stays true only if no entry was added since `feed` was read, and no commit was in progress at that
        // time.
        let isLast = isLast && feed.inProgress == 0 && now.next == feed.next
        gone = now.drop(through: first - 1, bytes: dropped, isLast: isLast)
        return [(FeedFormat.stateKey, now.state)]
      }
    } catch {
      if let gone { pipeline.withFeed { $0.rollBackChange(from: feed.first, bytes: gone) } }
      throw error
    }
    return true
  }

  /// Follow-up work after a commit with a feed entry.
  func didCommitToFeed(_ inProgress: CommitInProgress) {
    guard inProgress.feedBytes != nil else { return }
    // If trimming fails, the next commit retries it. A commit that was in progress when the last consumer was
    // removed has written an entry that no consumer needs, so trim in this case, too.
    if inProgress.isFeedTrimDue || !pipeline.feed.isActive { try? trimFeed() }
    for waker in feedWakers.withLock({ $0 }) { waker.waker?.wake() }
  }
}

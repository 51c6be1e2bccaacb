// The change feed: an ordered stream of commits that can be taken up where it was left, across openings.
//
// Entries are written in the commits that they tell of. They are kept while a consumer is registered that has not
// acknowledged them, for seven days at most, and as long as all of them have no more than a tenth of the bytes of
// the store, or four mebibytes.

import ByteStore

extension DocumentStore {
  private static let feedMicrosecondsMax: Int64 = 7 * 86_400 * 1_000_000
  private static let feedBytesMin: UInt64 = 4 << 20
  private static let entriesPerTrim = 500
  /// Behind so many numbers without an entry all keys are looked at, and not all numbers.
  private static let gapMax: UInt64 = 4096
  private static let consumersMax = 1000

  /// A consumer by its name. A new one begins with the next commit; one that is registered goes on behind what it
  /// has acknowledged last.
  public func feedConsumer(_ name: String) throws(DocumentStoreError) -> FeedConsumer {
    guard (1...1000).contains(name.utf8.count) else {
      throw .invalidArgument("The name of a consumer has 1 to 1000 bytes.")
    }
    // One that is about to come or to go is waited for.
    return try consumerChanges.withLock { _ throws(DocumentStoreError) in
      if let position = try registered(name) { return FeedConsumer(name, of: self, from: position) }
      return FeedConsumer(name, of: self, from: try register(name))
    }
  }

  private func registered(_ name: String) throws(DocumentStoreError) -> UInt64? {
    let consumers = pipeline.feed.consumers
    guard let place = consumers.index(forKey: name) else { return nil }
    try NameCheck.requireSame(consumers[place].key, name, "A consumer")
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
      // From this commit on all have entries, whether it has happened yet or not.
      try pipeline.write { feed in
        position = feed.next - 1
        feed.consumers[name] = position
        return [(FeedFormat.consumersKey, feed.encodedConsumers), (FeedFormat.stateKey, feed.state)]
      }
    } catch {
      pipeline.withFeed { $0.consumers[name] = nil }
      throw error
    }
    return position
  }

  /// The names of all consumers.
  public var feedConsumers: [String] { pipeline.feed.consumers.keys.sorted() }

  func unregister(_ name: String) throws(DocumentStoreError) {
    try change(name) { _, _ in nil }
    // What is not removed now, a later commit with an entry tries to remove, or the next consumer.
    try? trimFeed()
  }

  func acknowledge(_ number: UInt64, by name: String) throws(DocumentStoreError) {
    try change(name) { known, feed in min(max(known, number), feed.next - 1) }
    try? trimFeed()
  }

  /// It counts once it is on stable storage: until then the consumer may have to begin where it was, and everything
  /// that it would miss is kept.
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

  /// Commits behind a position, and the position behind the last of them.
  func changes(
    after position: UInt64, max count: Int
  ) throws(DocumentStoreError) -> (commits: [FeedCommit], end: UInt64) {
    // What readers can see: an entry before this that is not there will never be.
    guard let state = try value(FeedFormat.stateKey) else { return ([], position) }
    guard let seen = FeedLedger.end(of: state) else { throw feedDamage("the state of the change feed") }
    guard position < seen.next - 1 else { return ([], position) }
    var commits: [FeedCommit] = []
    var number = position + 1
    while commits.count < count {
      guard let (place, entry) = try entry(from: number, before: seen.next) else {
        number = max(number, seen.next)
        break
      }
      guard let commit = FeedFormat.decode(entry, at: FeedPosition(place), indexes.shapes.table) else {
        throw feedDamage("an entry of the change feed")
      }
      commits.append(commit)
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

  /// The same for those who keep their positions themselves.
  package func feedChanges(
    after position: FeedPosition, max count: Int
  ) throws(DocumentStoreError) -> (commits: [FeedCommit], end: FeedPosition) {
    let (commits, end) = try changes(after: position.value, max: count)
    return (commits, FeedPosition(end))
  }

  /// The first entry in a range of numbers; nil if there is none. Commits that were refused leave gaps, and a store
  /// that somebody made up says what it likes: what this takes is bounded by the keys that there are.
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
    let (moment, _) = try moment {}
    var least: UInt64?
    try readAll(moment) { _, key, _ in
      guard let number = FeedFormat.number(of: key), first <= number, number < least ?? end else { return }
      least = number
    }
    return least
  }

  private func value(_ key: [UInt8]) throws(DocumentStoreError) -> [UInt8]? {
    do throws(ByteStoreError) { return try bytes.value(for: key) } catch { throw DocumentStoreError(error) }
  }

  private func feedDamage(_ what: String) -> DocumentStoreError {
    DocumentStoreError(.corrupted(Damage(file: path, offset: 0, expected: what, found: "something else")))
  }

  // MARK: Bounds

  /// Removes what nobody needs and what is beyond the bounds.
  func trimFeed() throws(DocumentStoreError) {
    try trimming.withLock { _ throws(DocumentStoreError) in
      let budget = max(Self.feedBytesMin, liveBytes / 10)
      while try trimOnce(budget) {}
    }
  }

  /// Of what is in use, about: what was replaced and is not yet collected is not counted.
  package var approximateBytes: UInt64 { liveBytes }

  private var liveBytes: UInt64 {
    let statistics = bytes.statistics
    return statistics.segments.liveBytes + UInt64(statistics.tailBytes)
  }

  /// False if there is nothing more to remove.
  private func trimOnce(_ budget: UInt64) throws(DocumentStoreError) -> Bool {
    let feed = pipeline.feed
    // Those that no reader sees yet are still under way.
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
        // Nothing but gaps, and what a consumer has still to pass is not said to be gone.
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
        // No entry has come since, and none was on its way.
        let isLast = isLast && feed.underWay == 0 && now.next == feed.next
        gone = now.drop(through: first - 1, bytes: dropped, isLast: isLast)
        return [(FeedFormat.stateKey, now.state)]
      }
    } catch {
      if let gone { pipeline.withFeed { $0.takeBack(from: feed.first, bytes: gone) } }
      throw error
    }
    return true
  }

  /// What a commit that is in the feed brings with it.
  func feedGrew(_ underWay: CommitUnderWay) {
    guard underWay.feedBytes != nil else { return }
    // The next commit tries again. One that was under way when the last consumer went leaves an entry for nobody.
    if underWay.isFeedTrimDue || !pipeline.feed.isActive { try? trimFeed() }
    for waker in feedWakers.withLock({ $0 }) { waker.waker?.wake() }
  }
}

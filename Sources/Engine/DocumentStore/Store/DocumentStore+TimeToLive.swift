// Documents with a time to live: a field of a collection group is declared as the expiry time.

import ByteStore

extension DocumentStore {
  private static let documentsPerSweep = 100
  /// Upper limit on the time a background sweep spends on removals.
  private static let sweepSecondsMax = 2
  private static let sweepsPerRun = 1000
  private static let secondsBetweenSweeps = 10
  private static let policiesMax = 1000

  /// Declares `field` as the expiry time of documents in all collections with this id. If `field` is nil,
  /// removes the declaration. Expired documents are removed some time later. Values other than timestamps
  /// never expire. The setting is stored.
  public func setTimeToLive(
    _ field: StoredFieldPath?, ofCollectionGroup id: String
  ) throws(DocumentStoreError) {
    if let field { try Self.check(field, of: id) }
    try timeToLive.withLock { state throws(DocumentStoreError) in
      guard !state.isDisabled else {
        throw .failedPrecondition(
          "The database in \(path) is a cache of a remote: set times to live where the documents come from.")
      }
      var policies = state.policies
      if let place = policies.index(forKey: id) {
        try NameCheck.requireSame(policies[place].key, id, what: "A collection group with a time to live")
      }
      policies[id] = field
      guard field == nil || policies.count <= Self.policiesMax else {
        throw .invalidArgument(
          "\(Self.policiesMax) collection groups have times to live, and there is no room for more. Remove one "
            + "first.")
      }
      let encoded = FeedFormat.encode(policies)
      try pipeline.write { _ in [(FeedFormat.policiesKey, encoded)] }
      state.policies = policies
      if field == nil { state.reports[id] = nil }
    }
    startSweeping()
  }

  private static func check(_ field: StoredFieldPath, of id: String) throws(DocumentStoreError) {
    do throws(PathError) { _ = try CollectionPath([id]) } catch { throw .invalidArgument(error.description) }
    guard field.byteCount <= StoredFieldPath.bytesMax else {
      throw .invalidArgument("A field's path has at most \(StoredFieldPath.bytesMax) bytes.")
    }
  }

  /// The expiry fields by collection id.
  public var timeToLivePolicies: [String: StoredFieldPath] { timeToLive.withLock { $0.policies } }

  /// How far the wall clock has jumped since the store was opened, in microseconds. The jump affects times to
  /// live only after the store is reopened.
  public var wallClockJump: Int64 { timeToLiveClock.jump }

  /// The result of the last sweep of each collection group, by collection id.
  public var timeToLiveReports: [String: TimeToLiveReport] { timeToLive.withLock { $0.reports } }

  /// Removes expired documents, at most 100 per collection group. Returns the number of removed documents.
  ///
  /// A document that cannot be read is skipped and stays. Throws the first failure after all collection
  /// groups were swept. `timeToLiveReports` contains all failures.
  @discardableResult
  public func sweepExpired() throws(DocumentStoreError) -> Int {
    guard !timeToLive.withLock({ $0.isDisabled }) else { return 0 }
    var removed = 0
    var failure: DocumentStoreError?
    for (id, field) in timeToLivePolicies.sorted(by: { $0.key < $1.key }) {
      let report = sweep(id, field)
      timeToLive.withLock { state in
        if state.policies[id] != nil { state.reports[id] = report }
      }
      removed += report.removed
      failure = failure ?? report.failure
    }
    if let failure { throw failure }
    return removed
  }

  private func sweep(_ id: String, _ field: StoredFieldPath) -> TimeToLiveReport {
    var report = TimeToLiveReport()
    do throws(DocumentStoreError) {
      guard let query = try expired(id, field) else { return report }
      let (expired, unreadable) = try readable(query)
      report.unreadable = unreadable
      // If a concurrent write extends the expiry time, the precondition fails and the document stays.
      let removals = expired.map { Mutation.delete($0.path, precondition: .updateTime($0.updateTime)) }
      guard !removals.isEmpty else { return report }
      if try removesAll(removals) {
        report.removed = removals.count
      } else {
        for removal in removals where try removesAll([removal]) { report.removed += 1 }
      }
    } catch {
      report.failure = error
    }
    return report
  }

  private func expired(
    _ id: String, _ field: StoredFieldPath
  ) throws(DocumentStoreError) -> StructuredQuery? {
    guard let now = StoredTimestamp(microseconds: timeToLiveClock.now) else { return nil }
    return try StructuredQuery(.collectionGroup(id))
      .filtered(by: .field(field, .lessThanOrEqual, .timestamp(now)))
  }

  private func readable(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], unreadable: Int) {
    let read = { (run: QueryRun) throws(DocumentStoreError) in
      try run.readableDocuments(max: Self.documentsPerSweep)
    }
    do throws(DocumentStoreError) {
      return try run(query, read)
    } catch {
      // An index cannot be built while one of its documents is unreadable.
      guard case .corrupted = error else { throw error }
      return try run(query, createsIndexes: false, read)
    }
  }

  /// Removes the documents in one commit. Returns false if one of them has changed since it was read.
  private func removesAll(_ removals: [Mutation]) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      try commit(removals)
      return true
    } catch {
      switch error {
      case .failedPrecondition, .notFound, .corrupted: return false
      default: throw error
      }
    }
  }

  /// Number of unreadable documents among the first expired ones, by collection id. The number is nil for a
  /// collection group without an index on the expiry time. Removes nothing.
  package func unreadableExpired(ofFirst max: Int) -> [String: Int?] {
    var found: [String: Int?] = [:]
    for (id, field) in timeToLivePolicies {
      let query = (try? expired(id, field)) ?? nil
      let ready = query.flatMap { query in
        try? runIfIndexed(query) { run throws(DocumentStoreError) in try run.readableDocuments(max: max) }
      }
      found[id] = .some(ready.map(\.unreadable))
    }
    return found
  }

  // MARK: In the background

  /// Starts background sweeps, if there is anything to sweep and no other component runs the sweeps.
  func startSweeping() {
    guard case .inBackground = options.maintenance else { return }
    timeToLive.withLock { state in
      guard !state.policies.isEmpty, !state.isClosed, !state.isDisabled else {
        return state.sweeper = nil
      }
      guard state.sweeper == nil else { return }
      state.sweeper = TimeToLiveSweeper(every: Self.secondsBetweenSweeps) { [weak self] in
        self?.runExpirySweeps()
      }
    }
  }

  /// Sweeps in commits of 100 documents, so that other writers get their turn in between.
  func runExpirySweeps() {
    let start = clock.monotonicNanoseconds()
    for _ in 0..<Self.sweepsPerRun {
      // The failure is in the report, and the next sweep retries.
      _ = try? sweepExpired()
      let reports = timeToLiveReports.values
      let seconds = (clock.monotonicNanoseconds() &- start) / 1_000_000_000
      guard reports.contains(where: { $0.removed == Self.documentsPerSweep }),
        seconds < Self.sweepSecondsMax
      else { return }
    }
  }

  /// Disables sweeps. Called for a store that is a cache, because such a store receives the removals from the
  /// remote.
  package func disableTimeToLive() {
    timeToLive.withLock { state in
      state.isDisabled = true
      state.sweeper = nil
    }
  }

  func stopSweeping() {
    timeToLive.withLock { state in
      state.isClosed = true
      state.sweeper = nil
    }
  }

  struct TimeToLiveState {
    var policies: [String: StoredFieldPath]
    var sweeper: TimeToLiveSweeper?
    var reports: [String: TimeToLiveReport] = [:]
    var isClosed = false
    var isDisabled = false
  }
}

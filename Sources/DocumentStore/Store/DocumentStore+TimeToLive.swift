// Documents with a time to live: a declared field of a collection group, after whose time they are removed.

import ByteStore

extension DocumentStore {
  private static let documentsPerSweep = 100
  private static let sweepsAtOnce = 50
  private static let secondsBetweenSweeps = 10

  /// Removes documents of all collections with an id some time after the moment that they have in `field`; nil ends
  /// that. What is no timestamp there is never removed. Kept across openings.
  public func setTimeToLive(
    _ field: StoredFieldPath?, ofCollectionGroup id: String
  ) throws(DocumentStoreError) {
    guard (1...1500).contains(id.utf8.count) else {
      throw .invalidArgument("The id of a collection has 1 to 1500 bytes.")
    }
    try timeToLive.withLock { state throws(DocumentStoreError) in
      guard !state.isLeftToOthers else {
        throw .failedPrecondition(
          "The database in \(path) is a cache of a remote: set times to live where the documents come from.")
      }
      var policies = state.policies
      policies[id] = field
      let encoded = FeedFormat.encode(policies)
      try pipeline.write { _ in [(FeedFormat.policiesKey, encoded)] }
      state.policies = policies
    }
    startSweeping()
  }

  /// The fields with times to live, by the ids of collections.
  public var timeToLivePolicies: [String: StoredFieldPath] { timeToLive.withLock { $0.policies } }

  /// How many microseconds the wall clock has jumped since the store was opened. Times to live follow it at the
  /// next opening.
  public var wallClockJump: Int64 { timeToLiveClock.jump }

  /// Removes documents whose time is over, a hundred at most for each policy. How many it removed.
  @discardableResult
  public func sweepExpired() throws(DocumentStoreError) -> Int {
    guard !timeToLive.withLock({ $0.isLeftToOthers }) else { return 0 }
    var removed = 0
    for (id, field) in timeToLivePolicies.sorted(by: { $0.key < $1.key }) {
      removed += try sweep(id, field)
    }
    return removed
  }

  private func sweep(_ id: String, _ field: StoredFieldPath) throws(DocumentStoreError) -> Int {
    guard let now = StoredTimestamp(microseconds: timeToLiveClock.now) else { return 0 }
    let query = try StructuredQuery(.collectionGroup(id))
      .filtered(by: .field(field, .lessThanOrEqual, .timestamp(now)))
      .limited(to: .first(Self.documentsPerSweep))
    // Whoever gives a document more time meanwhile has it stay.
    let removals = try documents(query).map {
      Mutation.delete($0.path, precondition: .updateTime($0.updateTime))
    }
    guard !removals.isEmpty else { return 0 }
    if removesAll(removals) { return removals.count }
    return removals.count { removesAll([$0]) }
  }

  private func removesAll(_ removals: [Mutation]) -> Bool { (try? commit(removals)) != nil }

  // MARK: In the background

  /// If there is something to sweep, and nobody else decides when.
  func startSweeping() {
    guard case .inBackground = options.maintenance else { return }
    timeToLive.withLock { state in
      guard !state.policies.isEmpty, !state.isClosed, !state.isLeftToOthers else {
        return state.sweeper = nil
      }
      guard state.sweeper == nil else { return }
      state.sweeper = TimeToLiveSweeper(every: Self.secondsBetweenSweeps) { [weak self] in
        for _ in 0..<Self.sweepsAtOnce {
          // A failure is tried again the next time.
          guard let removed = try? self?.sweepExpired(), removed >= Self.documentsPerSweep else { return }
        }
      }
    }
  }

  /// From now on nothing is removed here: this store is a cache, and learns it from where the documents come from.
  package func leaveTimeToLiveToOthers() {
    timeToLive.withLock { state in
      state.isLeftToOthers = true
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
    var isClosed = false
    var isLeftToOthers = false
  }
}

// The document store, built on one ByteStore.

public import ByteStore

/// A document database in one directory. Usable from any thread.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let ada = try DocumentPath(["users", "ada"])
/// try store.commit([.set(ada, StoredMap([("name", .string("Ada")), ("age", .integer(36))]))])
/// print(try store.document(at: ada)?.fields["age"] ?? .null)
/// try store.close()
/// ```
public final class DocumentStore: Sendable {
  /// Options for opening a store.
  public struct Options: Sendable {
    /// Whether to create the store if the directory has none.
    public var createsIfMissing = true
    /// Whether to read the store beside a writer, which may be another process or this one. Commits then
    /// throw `failedPrecondition`, queries build their indexes in memory, and nothing in the directory
    /// changes. Any number of readers can have the store open. `refresh()` shows what the writer has
    /// committed since.
    public var isReadOnly = false
    /// Initial value of `DocumentStore.createsIndexes`.
    public var createsIndexes = true
    /// The durability that a commit waits for.
    public var durability = StoreDurability.synced
    /// Up to this number of documents, a query scans instead of building an index.
    package var scanMax = 64
    /// The byte store's maintenance mode.
    package var maintenance = ByteStore.Options().maintenance
    package var blobs = BlobStore.Options()
    /// Size of the byte store's cache for segment pages; nil for a fraction of the machine's memory.
    package var cacheBytesMax: Int?
    /// Memory limit for all automatic indexes together; nil for a quarter of the machine's memory. Beyond the
    /// limit, the least recently used automatic indexes are dropped. They are rebuilt when a query needs
    /// them. Indexes from `createIndex` are never dropped.
    public var automaticIndexBytesMax: Int?
    /// The limit for the memory of the store in bytes, at least 16 MiB. It bounds the page cache, the commits
    /// that are only in the write-ahead log, the indexes, and the results of running queries together. Nil
    /// means the value of the environment variable `DUGOUT_MEMORY_BUDGET`. If that is not set either, the
    /// parts have limits of their own, unless a control group limits the memory of the process: then the
    /// budget is half of that limit.
    public var memoryBudget: Int?
    /// A budget of any size, for tests. It precedes `memoryBudget`.
    package var testedBudget: MemoryBudget?
    /// Receives the events and measurements of the store.
    public var instruments: (any Instruments)?
    /// Hooks for tests that schedule threads from a random source.
    package var pauses: (any StorePauses)?
    package var transactionLocks = TransactionLockLimits()

    /// Creates options for a durable, writable store that is created if missing.
    public init() {}
  }

  /// The directory of the store.
  public let path: String

  package let bytes: ByteStore
  let layer: CommitLayer
  let indexes: IndexSet
  package let options: Options
  private let indexCreation: Locked<Bool>
  package let clock: any StoreClock
  let pipeline: CommitPipeline
  package let locks: TransactionLocks
  let plans = PlanCache()
  let publications: Publications
  let live: LiveQueries
  let feedWakers = Locked<[WeakWaker]>([])
  /// The ID of the last feed follower.
  let followerIDs = Locked<UInt64>(0)
  /// Held while entries of the feed are removed.
  let trimming = Locked(Turn())
  /// Held while a feed consumer is registered, removed or moved, until the change is durable.
  let consumerChanges = Locked(Turn())
  /// Held while a reader takes over the writer's commits.
  let refreshing = Locked(RefreshState())
  /// The refreshes of a reader that failed since the last one that succeeded; nil if there are none.
  let failedRefreshes = Locked<FailedRefreshes?>(nil)
  let timeToLive: Locked<TimeToLiveState>
  let timeToLiveClock: TimeToLiveClock
  package let attachments = StoreAttachments()
  /// Index builds run one at a time, except builds that a progress callback starts.
  let building = Locked(BuildTurn())
  /// The number of documents that index builds have read since the store was opened.
  let documentsReadForIndexes = Locked(0)

  private init(
    _ bytes: ByteStore, _ layer: CommitLayer, settings: Settings, options: Options, clock: any StoreClock
  ) {
    path = bytes.path
    self.bytes = bytes
    indexes = layer.indexes
    self.options = options
    indexCreation = Locked(options.createsIndexes)
    self.clock = clock
    self.layer = layer
    pipeline = CommitPipeline(
      bytes, layer, feed: settings.feed, durability: options.durability, clock: clock, pauses: options.pauses)
    locks = TransactionLocks(
      directory: bytes.path, limits: options.transactionLocks, clock: clock, pauses: options.pauses)
    timeToLive = Locked(TimeToLiveState(policies: settings.policies))
    timeToLiveClock = TimeToLiveClock(clock)
    publications = layer.publications
    let indexBytesMax = options.automaticIndexBytesMax ?? IndexSet.standardBytesMax()
    layer.indexes.state.withLock { $0.automaticBytesMax = indexBytesMax }
    live = LiveQueries(
      layer.publications, repeatsFailedReads: options.isReadOnly, pauses: options.pauses,
      recorder: bytes.recorder)
    live.setSource(self)
    bytes.balanceMemory()
    // The logs may be larger than the budget allows.
    if bytes.options.memoryBudget != nil { bytes.scheduleFlush() }
    startSweeping()
    removeFeedLeftovers()
  }

  /// A lock without data. The struct is not empty, because the thread sanitizer would attribute a state
  /// without bytes to the memory after it.
  struct Turn { private let place: UInt8 = 0 }

  struct BuildTurn {
    /// Number of running builds. A build inside its progress callback is not counted.
    var running = 0
  }

  /// The store's settings, kept outside documents.
  struct Settings {
    var feed: FeedLedger
    var policies: [String: StoredFieldPath]

    init(of bytes: ByteStore) throws(ByteStoreError) {
      let values = try bytes.values(
        for: [FeedFormat.policiesKey, FeedFormat.stateKey, FeedFormat.consumersKey])
      guard let feed = FeedLedger(state: values[1], consumers: values[2]),
        let policies = values[0].map({ FeedFormat.policies($0) }) ?? [:]
      else {
        throw .corrupted(
          Damage(file: bytes.path, offset: 0, expected: "the settings of a store", found: "something else"))
      }
      self.feed = feed
      self.policies = policies
    }
  }

  /// Opens the store in a directory, or creates it there.
  public static func open(
    _ path: String, options: Options = Options()
  ) throws(DocumentStoreError) -> DocumentStore {
    try open(path, options: options, platform: .real)
  }

  /// Opens a new store in memory. Closing it discards the data.
  public static func openInMemory(options: Options = Options()) throws(DocumentStoreError) -> DocumentStore {
    try open("/memory", options: options, platform: .memory)
  }

  package static func open(
    _ path: String, options: Options, platform: Platform
  ) throws(DocumentStoreError) -> DocumentStore {
    var options = options
    if options.isReadOnly { options.maintenance = .manual }
    var byteOptions = ByteStore.Options()
    byteOptions.createsIfMissing = options.createsIfMissing
    byteOptions.isReader = options.isReadOnly
    byteOptions.maintenance = options.maintenance
    byteOptions.blobs = options.blobs
    byteOptions.cacheBytesMax = options.cacheBytesMax
    byteOptions.instruments = options.instruments
    byteOptions.memoryBudget = try memoryBudget(options)
    let layer = CommitLayer()
    byteOptions.upperLayer = layer
    return try translatingErrors { () throws(ByteStoreError) in
      let bytes = try ByteStore.open(path, options: byteOptions, platform: platform)
      // If the last commit has the greatest valid time, the store can be read but accepts no commits.
      let isTime = Int64(exactly: bytes.lastStamp).flatMap(StoredTimestamp.init(microseconds:)) != nil
      guard isTime else {
        try bytes.close()
        throw .corrupted(
          Damage(
            file: bytes.path, offset: 0, expected: "commit times between the years 1970 and 9999",
            found: "\(bytes.lastStamp) µs"))
      }
      do throws(ByteStoreError) {
        try layer.indexes.catchUp(with: bytes)
        let settings = try Settings(of: bytes)
        return DocumentStore(bytes, layer, settings: settings, options: options, clock: platform.clock)
      } catch {
        bytes.abandon()
        throw error
      }
    }
  }

  /// Closes the store, marks it as cleanly closed, and releases the directory. Listeners get no further
  /// calls.
  public func close() throws(DocumentStoreError) {
    live.end()
    attachments.willClose()
    locks.close()
    stopSweeping()
    endRefreshes()
    try translatingErrors { () throws(ByteStoreError) in try bytes.close() }
  }

  /// A report of what recovery found and dropped during the open.
  package var recoveryReport: RecoveryReport { bytes.recoveryReport }

  /// The number of user documents. If damage makes it impossible to count them, the number of all keys.
  public var count: Int { (try? documentCount()) ?? bytes.count }

  /// Whether a query builds a missing index. Otherwise the query scans the existing data and sorts.
  public var createsIndexes: Bool {
    get { indexCreation.withLock { $0 } }
    set { indexCreation.withLock { $0 = newValue } }
  }

  // MARK: Reading

  /// The document at a path as of the last commit; nil if it does not exist.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    guard let record = try record(at: path) else { return nil }
    do throws(RecordError) {
      return try StoredDocument(path: path, record: record.rawSpan, shapes: indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: self.path)
    }
  }

  /// The encoded document at a path; nil if it does not exist.
  package func storedRecord(at path: DocumentPath) throws(DocumentStoreError) -> DocumentRecord? {
    guard let record = try record(at: path) else { return nil }
    do throws(RecordError) {
      return try DocumentRecord(path: path, record: record, shapes: indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: self.path)
    }
  }

  private func record(at path: DocumentPath) throws(DocumentStoreError) -> [UInt8]? {
    guard let measures = bytes.measures else { return try unmeasuredRecord(at: path) }
    return try measures.timing(.read, clock) { () throws(DocumentStoreError) in
      try unmeasuredRecord(at: path)
    }
  }

  private func unmeasuredRecord(at path: DocumentPath) throws(DocumentStoreError) -> [UInt8]? {
    try translatingErrors { () throws(ByteStoreError) in try bytes.value(for: DocumentKey.encode(path)) }
  }

  // MARK: Writing

  /// Throws the errors that a commit of these mutations would throw regardless of the stored documents.
  package static func check(_ mutations: [Mutation]) throws(DocumentStoreError) {
    _ = try CommitRequest(mutations)
  }

  /// Applies all mutations in order, or none. Each mutation sees the effects of earlier ones on its
  /// document. Returns the commit's time once the commit is durable and visible.
  ///
  /// Throws `invalidArgument` if a document or the request exceeds a limit, or if the records are too large
  /// for one commit. Throws `notFound`, `alreadyExists` or `failedPrecondition` if a precondition fails.
  @discardableResult
  public func commit(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try finish(try begin(mutations))
  }

  /// Starts a commit, for callers that start many commits without waiting for each. Assigns the commit's
  /// position in the commit order. Waits only for disk reads, and for write throttling if flushes fall
  /// behind. The caller must pass the result to `finish`.
  package func begin(
    _ mutations: [Mutation], durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> CommitInProgress {
    try pipeline.begin(mutations, CommitTerms(durability: durability))
  }

  @discardableResult
  package func finish(_ inProgress: CommitInProgress) throws(DocumentStoreError) -> StoredTimestamp {
    try finished(inProgress).time
  }

  /// Waits until a commit is durable and visible. The returned commit is another one if the commit had to be
  /// resolved again.
  func finished(_ inProgress: CommitInProgress) throws(DocumentStoreError) -> CommitInProgress {
    let committed = try pipeline.finish(inProgress)
    didCommitToFeed(committed)
    return committed
  }
}

// Documents over one ByteStore.

package import ByteStore

/// A database of documents in one directory. Usable from any thread.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let ada = try DocumentPath(["users", "ada"])
/// try store.commit([.set(ada, StoredMap([("name", .string("Ada")), ("age", .integer(36))]))])
/// print(try store.document(at: ada)?.fields["age"] ?? .null)
/// try store.close()
/// ```
public final class DocumentStore: Sendable {
  /// How a store is opened.
  public struct Options: Sendable {
    /// Make the store if the directory has none.
    public var createsIfMissing = true
    /// Leave everything in the directory as it is. Commits throw `failedPrecondition`; indexes that queries need are
    /// made in memory. Nobody else may have the store open meanwhile either.
    public var isReadOnly = false
    /// As the store's property of this name.
    public var createsIndexes = true
    /// What a commit waits for.
    public var durability = StoreDurability.synced
    /// A query goes through so many documents rather than have an index made.
    package var scanMax = 64
    /// Of the store of bytes.
    package var maintenance = ByteStore.Options().maintenance
    package var blobs = BlobStore.Options()
    /// Of the same, for pages of segments; nil is a share of the machine's memory.
    package var cacheBytesMax: Int?
    /// What the indexes that queries made may take of the memory, all together; above it those go that were not of use
    /// for the longest time, and are made again when a query needs them. Nil is a quarter of the machine's memory.
    /// Indexes that `createIndex` made stay whatever they take.
    public var automaticIndexBytesMax: Int?
    /// Of tests that play threads by dice.
    package var pauses: (any StorePauses)?

    /// Durable, made if missing, open for writing.
    public init() {}
  }

  /// Where it is.
  public let path: String

  package let bytes: ByteStore
  let indexes: IndexSet
  package let options: Options
  private let indexCreation: Locked<Bool>
  package let clock: any StoreClock
  let pipeline: CommitPipeline
  let publications: Publications
  let live: LiveQueries
  let feedWakers = Locked<[WeakWaker]>([])
  /// Held while entries of the feed are removed.
  let trimming = Locked(Turn())
  /// Held while a consumer of the feed comes, goes or moves on, until that is on stable storage.
  let consumerChanges = Locked(Turn())
  let timeToLive: Locked<TimeToLiveState>
  let timeToLiveClock: TimeToLiveClock
  package let attachments = StoreAttachments()
  /// One index is made at a time, but for those that are asked for meanwhile by who is told of the progress.
  let building = Locked(BuildTurn())
  /// Since the store was opened.
  let documentsReadForIndexes = Locked(0)

  private init(
    _ bytes: ByteStore, _ layer: CommitLayer, _ settings: Settings, _ options: Options, clock: any StoreClock
  ) {
    path = bytes.path
    self.bytes = bytes
    indexes = layer.indexes
    self.options = options
    indexCreation = Locked(options.createsIndexes)
    self.clock = clock
    pipeline = CommitPipeline(
      bytes, layer, settings.feed, options.durability, clock: clock, pauses: options.pauses)
    timeToLive = Locked(TimeToLiveState(policies: settings.policies))
    timeToLiveClock = TimeToLiveClock(clock)
    publications = layer.publications
    let indexBytesMax = options.automaticIndexBytesMax ?? IndexSet.standardBytesMax()
    layer.indexes.state.withLock { $0.automaticBytesMax = indexBytesMax }
    live = LiveQueries(layer.publications, pauses: options.pauses)
    live.setSource(self)
    startSweeping()
  }

  /// Something that one thread does at a time. It is not empty: the thread sanitizer would take a state without
  /// bytes for what lies behind it.
  struct Turn { private let place: UInt8 = 0 }

  struct BuildTurn {
    /// Builds that go on; of one that tells its progress, nobody waits for the end.
    var atWork = 0
  }

  /// What is kept beside the documents.
  private struct Settings {
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

  /// Opens the database in a directory, or makes one there.
  public static func open(
    _ path: String, options: Options = Options()
  ) throws(DocumentStoreError) -> DocumentStore {
    try open(path, options: options, platform: .real)
  }

  /// A database that is gone when it is closed.
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
    byteOptions.isReadOnly = options.isReadOnly
    byteOptions.maintenance = options.maintenance
    byteOptions.blobs = options.blobs
    byteOptions.cacheBytesMax = options.cacheBytesMax
    let layer = CommitLayer()
    byteOptions.layerAbove = layer
    do throws(ByteStoreError) {
      let bytes = try ByteStore.open(path, options: byteOptions, platform: platform)
      // After the last time that there is, a store is read and takes no commit.
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
        return DocumentStore(bytes, layer, settings, options, clock: platform.clock)
      } catch {
        bytes.abandon()
        throw error
      }
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Marks the store as closed cleanly and lets go of its directory. Listeners are told nothing more.
  public func close() throws(DocumentStoreError) {
    live.end()
    stopSweeping()
    do throws(ByteStoreError) { try bytes.close() } catch { throw DocumentStoreError(error) }
  }

  /// What the open found and dropped.
  package var recoveryReport: RecoveryReport { bytes.recoveryReport }

  /// The number of documents. Of a store that is too damaged for that to be known, that of all keys.
  public var count: Int { (try? documentCount()) ?? bytes.count }

  /// Whether the index that a query needs is made if it is not there. Otherwise such a query goes through what
  /// there is, and sorts.
  public var createsIndexes: Bool {
    get { indexCreation.withLock { $0 } }
    set { indexCreation.withLock { $0 = newValue } }
  }

  // MARK: Reading

  /// The document as of the last commit, or nil if there is none.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    guard let record = try record(at: path) else { return nil }
    do throws(RecordError) {
      return try StoredDocument(path: path, record: record.rawSpan, indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: self.path)
    }
  }

  /// The same, as it is stored.
  package func storedRecord(at path: DocumentPath) throws(DocumentStoreError) -> DocumentRecord? {
    guard let record = try record(at: path) else { return nil }
    do throws(RecordError) {
      return try DocumentRecord(path: path, record: record, indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: self.path)
    }
  }

  private func record(at path: DocumentPath) throws(DocumentStoreError) -> [UInt8]? {
    do throws(ByteStoreError) {
      return try bytes.value(for: DocumentKey.encode(path))
    } catch {
      throw DocumentStoreError(error)
    }
  }

  // MARK: Writing

  /// Throws what a commit would throw that needs no document for it.
  package static func check(_ mutations: [Mutation]) throws(DocumentStoreError) {
    _ = try CommitRequest(mutations)
  }

  /// Applies all mutations, in order, or none. Each sees what those before it made of its document. Returns
  /// when they are on stable storage and readers see them, with the time of the commit.
  ///
  /// Throws `invalidArgument` if a document or the request would break a limit, or if the records are more
  /// than one commit can write, and `notFound`, `alreadyExists` or `failedPrecondition` if a precondition
  /// does not hold.
  @discardableResult
  public func commit(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try finish(try begin(mutations))
  }

  /// The same in two halves, for those who have many commits to make and need not wait for each: this one
  /// decides the order and waits for no disk but to read, and where flushes do not keep up. `finish` has to be called with what it returns.
  package func begin(
    _ mutations: [Mutation], durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> CommitUnderWay {
    try pipeline.begin(mutations, durability: durability)
  }

  @discardableResult
  package func finish(_ underWay: CommitUnderWay) throws(DocumentStoreError) -> StoredTimestamp {
    let happened = try pipeline.finish(underWay)
    feedGrew(happened)
    return happened.time
  }
}

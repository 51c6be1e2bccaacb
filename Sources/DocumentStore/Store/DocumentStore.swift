// Documents over one ByteStore.

package import ByteStore

/// A database of documents in one directory. Usable from any thread.
public final class DocumentStore: Sendable {
  public struct Options: Sendable {
    /// Make the store if the directory has none.
    public var createsIfMissing = true
    /// Make the index that a query needs, if it is not there. Otherwise such a query goes through what there
    /// is, and sorts.
    public var createsIndexes = true
    /// A query goes through so many documents rather than have an index made.
    package var scanMax = 64
    /// Of the store of bytes.
    package var maintenance = ByteStore.Options().maintenance

    public init() {}
  }

  public let path: String

  package let bytes: ByteStore
  let indexes: IndexSet
  let options: Options
  let clock: any StoreClock
  /// Held through a commit: the next one is computed from what this one leaves.
  let committing: Locked<CommitClock>
  /// Held while an index is made.
  let building = Locked(())

  /// The time of the last commit. Times grow by a microsecond at least, whatever the wall clock does.
  struct CommitClock {
    fileprivate(set) var last: Int64

    fileprivate func next(_ clock: any StoreClock) -> Int64 { max(clock.wallMicroseconds(), last + 1) }
  }

  private init(_ bytes: ByteStore, _ indexes: IndexSet, _ options: Options, clock: any StoreClock) {
    path = bytes.path
    self.bytes = bytes
    self.indexes = indexes
    self.options = options
    self.clock = clock
    committing = Locked(CommitClock(last: Int64(bitPattern: bytes.lastStamp)))
  }

  /// Opens the database in a directory, or makes one there.
  public static func open(
    _ path: String, options: Options = Options()
  ) throws(DocumentStoreError) -> DocumentStore {
    try open(path, options: options, platform: .real)
  }

  package static func open(
    _ path: String, options: Options, platform: Platform
  ) throws(DocumentStoreError) -> DocumentStore {
    var byteOptions = ByteStore.Options()
    byteOptions.createsIfMissing = options.createsIfMissing
    byteOptions.maintenance = options.maintenance
    let indexes = IndexSet()
    byteOptions.layerAbove = indexes
    do throws(ByteStoreError) {
      let bytes = try ByteStore.open(path, options: byteOptions, platform: platform)
      // The next commit's time is later, and has to be one as well.
      let (next, overflow) = bytes.lastStamp.addingReportingOverflow(1)
      let hasNext = !overflow && Int64(exactly: next).flatMap(StoredTimestamp.init(microseconds:)) != nil
      guard hasNext else {
        try bytes.close()
        throw .corrupted(
          Damage(
            file: bytes.path, offset: 0, expected: "commit times between the years 1970 and 9999",
            found: "\(bytes.lastStamp) µs"))
      }
      do throws(ByteStoreError) {
        try indexes.catchUp(with: bytes)
      } catch {
        bytes.abandon()
        throw error
      }
      return DocumentStore(bytes, indexes, options, clock: platform.clock)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Marks the store as closed cleanly and lets go of its directory.
  public func close() throws(DocumentStoreError) {
    do throws(ByteStoreError) { try bytes.close() } catch { throw DocumentStoreError(error) }
  }

  /// What the open found and dropped.
  package var recoveryReport: RecoveryReport { bytes.recoveryReport }

  /// The number of documents.
  public var count: Int { bytes.count }

  // MARK: Reading

  /// The document as of the last commit, or nil if there is none.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    guard let record = try record(at: path) else { return nil }
    do throws(RecordError) {
      return try StoredDocument(path: path, record: record)
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

  /// Applies all mutations, in order, or none. Each sees what those before it made of its document. Returns
  /// when they are on stable storage and readers see them, with the time of the commit.
  ///
  /// Throws `invalidArgument` if a document or the request would break a limit, or if the records are more
  /// than one commit can write, and `notFound`, `alreadyExists` or `failedPrecondition` if a precondition
  /// does not hold.
  @discardableResult
  public func commit(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    // Before the lock, which a child of a fork may never get.
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: path)) }
    return try committing.withLock { clock throws(DocumentStoreError) in
      let microseconds = clock.next(self.clock)
      guard let time = StoredTimestamp(microseconds: microseconds) else {
        throw .invalidArgument("The clock says \(microseconds) µs since 1970, which is no time to store.")
      }
      let changes = try resolve(mutations, at: time)
      try write(changes, stamp: UInt64(bitPattern: microseconds))
      clock.last = microseconds
      return time
    }
  }

  /// A document that the commit is about.
  private struct Change {
    let path: DocumentPath
    /// As stored. Nil also if nobody needed to know.
    let before: StoredDocument?
    let isBeforeKnown: Bool
    var after: StoredDocument?
    var transformCount = 0

    var isNone: Bool { isBeforeKnown && before == after }

    var noted: IndexChanges.Before {
      guard isBeforeKnown, before?.fields != DocumentStore.damagedFields else { return .unknown }
      return before.map { .document($0) } ?? .none
    }
  }

  /// What each document is after all mutations, in the order of their first mention.
  private func resolve(
    _ mutations: [Mutation], at time: StoredTimestamp
  ) throws(DocumentStoreError) -> [Change] {
    var changes: [Change] = []
    var positions: [DocumentPath: Int] = [:]
    var requestBytes = 0
    for mutation in mutations {
      requestBytes += try DocumentLimits.check(mutation)
      try DocumentLimits.checkRequest(bytes: requestBytes)
      let position: Int
      if let known = positions[mutation.path] {
        position = known
      } else {
        position = changes.count
        positions[mutation.path] = position
        changes.append(try begin(mutation))
      }
      changes[position].transformCount += mutation.transforms.count
      try DocumentLimits.check(transforms: changes[position].transformCount, of: mutation.path)
      let after = try mutation.apply(to: changes[position].after, at: time)
      if let after, mutation.buildsOnOthers { try DocumentLimits.check(after) }
      changes[position].after = after
    }
    return changes
  }

  /// Reads what the first mutation of a document builds on, and no more: a damaged document can still be
  /// replaced or deleted.
  private func begin(_ mutation: Mutation) throws(DocumentStoreError) -> Change {
    let path = mutation.path
    if case .delete = mutation.change, mutation.precondition == .none,
      !indexes.hasIndexes(of: path.parent.id)
    {
      return Change(path: path, before: nil, isBeforeKnown: false)
    }
    guard let record = try record(at: path) else {
      return Change(path: path, before: nil, isBeforeKnown: true)
    }
    do throws(RecordError) {
      let before = try document(at: path, record, for: mutation.change)
      return Change(path: path, before: before, isBeforeKnown: true, after: before)
    } catch {
      throw DocumentStoreError(error, at: path, in: self.path)
    }
  }

  private func document(
    at path: DocumentPath, _ record: [UInt8], for change: Mutation.Change
  ) throws(RecordError) -> StoredDocument {
    switch change {
    case .patch, .verify: return try StoredDocument(path: path, record: record)
    case .set, .delete:
      let head = try RecordCodec.decodeHead(record.rawSpan)
      // Damaged fields count as some that no document can have: whatever is written differs from them.
      let fields = (try? RecordCodec.decodeFields(record.rawSpan)) ?? Self.damagedFields
      return StoredDocument(
        path: path, createTime: head.createTime, updateTime: head.updateTime, fields: fields)
    }
  }

  private static let damagedFields = StoredMap([("", .null)])

  private func write(_ changes: [Change], stamp: UInt64) throws(DocumentStoreError) {
    do throws(ByteStoreError) {
      var batch = Batch(stamp: stamp)
      var noted: [IndexChanges.Change] = []
      for change in changes where !change.isNone {
        noted.append(
          IndexChanges.Change(path: change.path, before: change.noted, after: change.after))
        let key = DocumentKey.encode(change.path)
        if let after = change.after { try batch.put(after.record, for: key) } else { try batch.remove(key) }
      }
      try bytes.commit(batch, note: IndexChanges(noted))
    } catch {
      throw DocumentStoreError(error)
    }
  }
}

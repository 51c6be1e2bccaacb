// Documents over one ByteStore.

package import ByteStore

/// A database of documents in one directory. Usable from any thread.
public final class DocumentStore: Sendable {
  public struct Options: Sendable {
    /// Make the store if the directory has none.
    public var createsIfMissing = true

    public init() {}
  }

  public let path: String

  private let bytes: ByteStore
  private let clock: any StoreClock
  /// Held through a commit: the next one is computed from what this one leaves.
  private let committing: Locked<CommitClock>

  /// The time of the last commit. Times grow by a microsecond at least, whatever the wall clock does.
  private struct CommitClock {
    var last: Int64

    func next(_ clock: any StoreClock) -> Int64 { max(clock.wallMicroseconds(), last + 1) }
  }

  private init(_ bytes: ByteStore, clock: any StoreClock) {
    path = bytes.path
    self.bytes = bytes
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
      return DocumentStore(bytes, clock: platform.clock)
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

  /// Applies all mutations, in order, or none. Returns when they are on stable storage and readers see
  /// them, with the time of the commit.
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

  /// What each touched document is after all mutations, in the order of their first mention.
  private func resolve(
    _ mutations: [Mutation], at time: StoredTimestamp
  ) throws(DocumentStoreError) -> [(path: DocumentPath, after: StoredDocument?)] {
    var changes: [(path: DocumentPath, after: StoredDocument?)] = []
    var positions: [DocumentPath: Int] = [:]
    for mutation in mutations {
      try DocumentLimits.check(mutation)
      let position = positions[mutation.path]
      let base: StoredDocument?
      if let position { base = changes[position].after } else { base = try self.base(of: mutation) }
      let after = mutation.apply(to: base, at: time)
      if let after { try DocumentLimits.check(after) }
      if let position {
        changes[position].after = after
      } else {
        positions[mutation.path] = changes.count
        changes.append((mutation.path, after))
      }
    }
    return changes
  }

  /// What the mutation builds on, and no more: a damaged document can still be replaced or deleted.
  private func base(of mutation: Mutation) throws(DocumentStoreError) -> StoredDocument? {
    switch mutation.change {
    case .delete: return nil
    case .set:
      guard let record = try record(at: mutation.path) else { return nil }
      do throws(RecordError) {
        let head = try RecordCodec.decodeHead(record.rawSpan)
        return StoredDocument(
          path: mutation.path, createTime: head.createTime, updateTime: head.updateTime,
          fields: StoredMap())
      } catch {
        throw DocumentStoreError(error, at: mutation.path, in: path)
      }
    }
  }

  private func write(
    _ changes: [(path: DocumentPath, after: StoredDocument?)], stamp: UInt64
  ) throws(DocumentStoreError) {
    let entries = changes.map { (key: DocumentKey.encode($0.path), record: $0.after?.record) }
    let size = entries.reduce(0) { $0 + $1.key.count + ($1.record?.count ?? 0) }
    try DocumentLimits.checkCommit(bytes: size)
    do throws(ByteStoreError) {
      var batch = Batch(stamp: stamp)
      for (key, record) in entries {
        if let record { try batch.put(record, for: key) } else { try batch.remove(key) }
      }
      try bytes.commit(batch)
    } catch {
      throw DocumentStoreError(error)
    }
  }
}

// Attaches a remote to a store. The store then permanently becomes the cache and the write queue of a client.

package import DocumentStore

/// The treatment of documents that a store has, but the remote does not, when the remote is attached to the
/// store.
public enum RemoteAttachment: Sendable, Hashable {
  /// Attaching fails if such documents exist.
  case refuse
  /// The documents are uploaded to the remote, like new writes of the user.
  case upload
  /// The documents are deleted.
  case discard
}

/// The identity of a client, and of one opening of this client.
package struct ClientIdentity: Sendable {
  /// The name that a new client gets.
  package var name: String
  package var user: String?
  /// Must be different each time the client is opened.
  package var run: RunID
  /// Determines the random parts of delays.
  package var seed: UInt64
  package var scheduler: any SyncScheduler

  package init(name: String, user: String?, run: RunID, seed: UInt64, scheduler: any SyncScheduler) {
    self.name = name
    self.user = user
    self.run = run
    self.seed = seed
    self.scheduler = scheduler
  }
}

extension DocumentStore {
  private static let documentsPerBatch = 100
  private static let uploadBytesMax = 4 << 20

  /// Creates the client of a remote over this store. A store has at most one client at a time. Throws
  /// `failedPrecondition` if the store has documents that the remote does not know and `attachment` is
  /// `.refuse`.
  package func attach(
    _ remote: any Remote, _ attachment: RemoteAttachment = .refuse, user: String? = nil,
    collector: LocalStore.Collector = .lru, options: SyncEngine.Options = SyncEngine.Options()
  ) throws(DocumentStoreError) -> SyncDriver {
    try attach(
      remote, attachment, collector: collector, options: options,
      as: ClientIdentity(
        name: Self.newClientName(), user: user, run: RunID(.random(in: 0...UInt64.max)),
        seed: .random(in: 0...UInt64.max), scheduler: QueueScheduler(label: "dugout.sync")))
  }

  /// Creates the client with a given identity.
  package func attach(
    _ remote: any Remote, _ attachment: RemoteAttachment, collector: LocalStore.Collector,
    options: SyncEngine.Options, as identity: ClientIdentity
  ) throws(DocumentStoreError) -> SyncDriver {
    let isUpload = try prepare(attachment)
    disableTimeToLive()
    let local = try LocalStore(
      self, user: identity.user, collector: collector, client: identity.name, run: identity.run)
    if isUpload { try upload(local) }
    var options = options
    options.seed = identity.seed
    return SyncDriver(local, remote, options: options, scheduler: identity.scheduler)
  }

  /// Throws if the store belongs to a client, because a cache may be incomplete and stale.
  package func checkIsNotCache() throws(DocumentStoreError) {
    guard try isClientCache() else { return }
    throw .failedPrecondition(
      "The database in \(path) is a cache of a remote. Name the remote in FirestoreSettings.remote.")
  }

  /// Whether the store belongs to a client of a remote and contains its write queue.
  package func isClientCache() throws(DocumentStoreError) -> Bool {
    try document(at: CacheKeys.globals) != nil
  }

  private static func newClientName() -> String {
    let word = UInt64.random(in: 0...UInt64.max)
    return "c" + String(word, radix: 36)
  }

  // MARK: Existing documents

  /// Returns true if existing documents have to be uploaded.
  private func prepare(_ attachment: RemoteAttachment) throws(DocumentStoreError) -> Bool {
    if try document(at: CacheKeys.upload) != nil { return true }
    guard try document(at: CacheKeys.globals) == nil else { return false }
    let paths = try userPaths()
    guard !paths.isEmpty else { return false }
    switch attachment {
    case .refuse:
      throw .failedPrecondition(
        "The database in \(path) has \(paths.count) documents that the remote does not have. Choose what to "
          + "do with them: FirestoreSettings.remoteAttachment is .refuse, and can be .upload or .discard.")
    case .discard:
      for start in stride(from: 0, to: paths.count, by: Self.documentsPerBatch) {
        try commit(paths[start...].prefix(Self.documentsPerBatch).map { Mutation.delete($0) })
      }
      return false
    case .upload:
      // While this marker exists, every document without pending writes is a local document that still has to
      // be uploaded.
      let time = SnapshotVersion.none.timestamp
      try commit([
        .place(
          StoredDocument(path: CacheKeys.upload, createTime: time, updateTime: time, fields: StoredMap()))
      ])
      return true
    }
  }

  private func upload(_ local: LocalStore) throws(DocumentStoreError) {
    var batch: [Mutation] = []
    var bytes = 0
    for path in try userPaths() where !local.queue.hasWrites(path) {
      guard let document = try document(at: path) else { continue }
      let mutation = Mutation.set(path, document.fields)
      if batch.count == Self.documentsPerBatch || bytes + mutation.commitBytes > Self.uploadBytesMax {
        try local.write(uploading: batch)
        (batch, bytes) = ([], 0)
      }
      batch.append(mutation)
      bytes += mutation.commitBytes
    }
    try local.write(uploading: batch)
    try commit([.delete(CacheKeys.upload)])
  }
}

// A store becomes the cache and the queue of a client, and remembers it.

internal import ByteStore
package import DocumentStore

/// What becomes of documents that a store has and that no remote knows, when one is attached.
public enum RemoteAttachment: Sendable, Hashable {
  /// Nothing: attaching is refused if there are any.
  case refuse
  /// They are written to the remote, as if the user had just written them.
  case upload
  /// They are removed.
  case discard
}

extension LocalView {
  private static let documentsPerBatch = 100
  private static let uploadBytesMax = 4 << 20

  /// The client of a remote over this store: made by the first call, the same for all others. Throws
  /// `failedPrecondition` if the store has documents of its own and nothing was said of them.
  package func attach(
    _ remote: any Remote, as user: String?, _ attachment: RemoteAttachment = .refuse,
    _ collector: LocalStore.Collector = .lru, _ options: SyncEngine.Options = SyncEngine.Options()
  ) throws(DocumentStoreError) -> SyncDriver {
    try attached.withLock { attached throws(DocumentStoreError) in
      if let driver = attached { return driver }
      let isUpload = try prepare(attachment)
      store.disableTimeToLive()
      let local = try LocalStore(store, user: user, collector: collector, client: Self.newClient())
      if isUpload { try upload(local) }
      var options = options
      options.seed = UInt64.random(in: 0...UInt64.max)
      let driver = SyncDriver(local, remote, options, QueueScheduler(label: "dugout.sync"))
      attached = driver
      return driver
    }
  }

  /// The client, if a remote is attached.
  package var driver: SyncDriver? { attached.withLock { $0 } }

  /// Throws if the store is that of a client: what it has of the remote is not all, and not the newest.
  package func checkIsOwn() throws(DocumentStoreError) {
    guard try isOfClient() else { return }
    throw .failedPrecondition(
      "The database in \(store.path) is a cache of a remote. Name the remote in FirestoreSettings.remote.")
  }

  /// The store is that of a client of a remote, with a queue of what waits for it.
  package func isOfClient() throws(DocumentStoreError) -> Bool {
    try store.document(at: CacheKeys.globals) != nil
  }

  private static func newClient() -> String {
    let word = UInt64.random(in: 0...UInt64.max)
    return "c" + String(word, radix: 36)
  }

  // MARK: Documents of its own

  /// True if documents have to be uploaded.
  private func prepare(_ attachment: RemoteAttachment) throws(DocumentStoreError) -> Bool {
    if try store.document(at: CacheKeys.upload) != nil { return true }
    guard try store.document(at: CacheKeys.globals) == nil else { return false }
    let paths = try store.userPaths()
    guard !paths.isEmpty else { return false }
    switch attachment {
    case .refuse:
      throw .failedPrecondition(
        "The database in \(store.path) has \(paths.count) documents that the remote does not know. Say what is to "
          + "become of them: FirestoreSettings.remoteAttachment is .refuse, and can be .upload or .discard.")
    case .discard:
      for start in stride(from: 0, to: paths.count, by: Self.documentsPerBatch) {
        try store.commit(paths[start...].prefix(Self.documentsPerBatch).map { Mutation.delete($0) })
      }
      return false
    case .upload:
      // Until it is gone, the documents at their own paths are nobody else's.
      let time = SnapshotVersion.none.timestamp
      try store.commit([
        .place(
          StoredDocument(path: CacheKeys.upload, createTime: time, updateTime: time, fields: StoredMap()))
      ])
      return true
    }
  }

  private func upload(_ local: LocalStore) throws(DocumentStoreError) {
    var batch: [Mutation] = []
    var bytes = 0
    for path in try store.userPaths() where !local.queue.isAbout(path) {
      guard let document = try store.document(at: path) else { continue }
      let mutation = Mutation.set(path, document.fields)
      if batch.count == Self.documentsPerBatch || bytes + mutation.commitBytes > Self.uploadBytesMax {
        try local.write(uploading: batch)
        (batch, bytes) = ([], 0)
      }
      batch.append(mutation)
      bytes += mutation.commitBytes
    }
    try local.write(uploading: batch)
    try store.commit([.delete(CacheKeys.upload)])
  }
}

// What a client keeps: documents, the queues of all users, targets. Every operation is one commit of the store, or
// several if it is too much for one (CacheTransaction+Commit.swift).
//
// Invariants:
//   - What is in memory here is what the store has, but for tokens whose writing can wait (see `apply`).
//   - A document at its own path is as the current user sees it.
//
// A commit that fails leaves memory ahead of the store: the client has then to be opened again. Only writes of users
// are taken back.

package import DocumentStore

package final class LocalStore {
  /// When documents go that nothing refers to.
  package enum Collector: Sendable {
    /// At the end of the operation that let go of them.
    case eager
    /// When there are too many bytes, those first that were used longest ago.
    case lru
  }

  struct Globals: Equatable {
    var lastBatch: Int64 = 0
    var lastTarget: Int32 = 0
    var sequence: Int64 = 0
    var version: SnapshotVersion = .none
    /// As whom documents at their own paths are seen.
    var queue = CacheKeys.queueName(nil)
  }

  package let store: DocumentStore
  let collector: Collector
  let sizes: CommitSizes
  /// Whose batches these are, wherever they go.
  package private(set) var client: String
  package private(set) var user: String?
  var queues: [String?: WriteQueue] = [:]
  /// Of batches that are kept in parts, how many those are.
  var partCounts: [DocumentPath: Int] = [:]
  var tokens: [String: [UInt8]] = [:]
  var targets: [TargetID: StoredTarget] = [:]
  var idsByText: [String: TargetID] = [:]
  /// Of targets that were used since the store was opened.
  var keys: [TargetID: Set<DocumentPath>] = [:]
  /// Documents in views.
  var pins: [TargetID: Set<DocumentPath>] = [:]
  var pinCounts: [DocumentPath: Int] = [:]
  /// What writes that wait were made on, where the remote has something else by now.
  var bases: [String?: [DocumentPath: SyncedDocument]] = [:]
  /// Asked when others were faster; without one, the last write wins.
  package var resolver: ConflictResolver?
  var globals = Globals()
  private var writtenGlobals = Globals()
  /// Targets whose last state is not in the store.
  var unwritten: Set<TargetID> = []
  /// Documents whose writes were accepted and not shown yet; nil until somebody asks.
  private var committed: Set<DocumentPath>?
  /// In which new batches are made.
  let run: RunID

  /// Opens what a store has, and makes it that of a client if it was none. `client` names a new one, `run` this opening:
  /// no two may have the same.
  package init(
    _ store: DocumentStore, user: String?, collector: Collector, client: String,
    run: RunID = RunID(.random(in: 0...UInt64.max)), sizes: CommitSizes = CommitSizes()
  ) throws(DocumentStoreError) {
    self.store = store
    self.collector = collector
    self.client = client
    self.run = run
    self.sizes = sizes
    if try load() { try mend() } else { try flush(isNew: true) }
    if user != self.user { _ = try changeUser(user) }
  }

  /// Writes what could wait until now.
  package func flush() throws(DocumentStoreError) { try flush(isNew: false) }

  private func flush(isNew: Bool) throws(DocumentStoreError) {
    var transaction = begin()
    for id in unwritten.sorted() { if let target = targets[id] { transaction.put(target) } }
    unwritten = []
    if isNew { putGlobals(&transaction) }
    try finish(&transaction)
  }

  package var queue: WriteQueue { queues[user] ?? WriteQueue() }

  // The queue is not copied for what is asked of it.

  func isPending(_ path: DocumentPath) -> Bool { queues[user]?.isAbout(path) ?? false }

  /// With what is pending.
  func local(_ remote: SyncedDocument) -> SyncedDocument { queues[user]?.local(remote) ?? remote }

  func local(
    _ remote: SyncedDocument, insteadOf old: SyncedDocument, without gone: PendingBatch? = nil,
    changed: [BatchID: PendingBatch] = [:], seen: SyncedDocument
  ) -> SyncedDocument {
    queues[user]?.local(remote, insteadOf: old, without: gone, changed: changed, seen: seen) ?? remote
  }

  package var lastRemoteVersion: SnapshotVersion { globals.version }

  /// The queue of the current user, wherever its batches go.
  package var queueName: String { "\(client)/\(CacheKeys.queueName(user))" }

  // MARK: Opening

  /// As whom documents at their own paths are seen in a store; nil if it is that of no client.
  package static func user(of store: DocumentStore) throws(DocumentStoreError) -> String?? {
    guard let stored = try store.document(at: CacheKeys.globals) else { return nil }
    return CacheKeys.user(queueName: stored.string("u"))
  }

  /// False if the store is that of no client.
  private func load() throws(DocumentStoreError) -> Bool {
    let stored = try store.document(at: CacheKeys.globals)
    if let stored {
      guard let lastTarget = Int32(exactly: stored.integer("t")) else {
        throw RemoteNote.damaged(stored.path, store)
      }
      client = stored.string("c")
      globals = Globals(
        lastBatch: stored.integer("b"), lastTarget: lastTarget,
        sequence: stored.integer("s"), version: SnapshotVersion(microseconds: stored.integer("v")),
        queue: stored.string("u"))
      guard let seen = CacheKeys.user(queueName: globals.queue) else {
        throw RemoteNote.damaged(stored.path, store)
      }
      user = seen
      writtenGlobals = globals
    }
    if let stored = try store.document(at: CacheKeys.tokens) {
      for (name, value) in stored.fields.entries {
        if case .bytes(let token) = value { tokens[name] = token }
      }
    }
    try loadQueues()
    try loadBases()
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.targets))) {
      guard let number = Int32(stored.path.id) else { throw RemoteNote.damaged(stored.path, store) }
      var target = StoredTarget(
        id: TargetID(number), text: stored.string("q"), sequence: stored.integer("s"))
      target.version = SnapshotVersion(microseconds: stored.integer("v"))
      target.limboFreeVersion = SnapshotVersion(microseconds: stored.integer("l"))
      target.resumeToken = stored.bytes("r")
      target.readTime = SnapshotVersion(microseconds: stored.integer("t"))
      targets[target.id] = target
      idsByText[target.text] = target.id
    }
    return stored != nil
  }

  private func loadQueues() throws(DocumentStoreError) {
    var batches: [String?: [PendingBatch]] = [:]
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.queue))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]),
        let batch = BatchCodec.decode(try bytes(ofBatch: stored)), parts[1] == "\(batch.id)"
      else { throw RemoteNote.damaged(stored.path, store) }
      batches[user, default: []].append(batch)
    }
    for (user, batches) in batches {
      var queue = WriteQueue()
      for batch in batches.sorted(by: { $0.id < $1.id }) { queue.append(batch) }
      queues[user] = queue
    }
  }

  // MARK: Reading

  package func remoteDocument(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    var transaction = CacheTransaction(store)
    return try transaction.remote(path)
  }

  /// As the user sees it. What is pending is in what stands at its own path already, however much that is.
  package func document(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    guard isPending(path), let stored = try store.document(at: path), stored.isPending else {
      return try composedDocument(path)
    }
    return SyncedDocument(local: stored, isCommitted: false)
  }

  /// The same, made of what the remote has and of all that is pending.
  package func composedDocument(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    local(try remoteDocument(path))
  }

  /// Whether the remote may have other fields than are known here, and the writes that wait leave some of them.
  package func isAssumed(_ path: DocumentPath) throws(DocumentStoreError) -> Bool {
    try remoteDocument(path).isAssumed && !queue.batches(about: path).contains { $0.beginsAnew(path) }
  }

  /// The answer of a query, as the user sees it.
  package func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [SyncedDocument] {
    let committed = try knownCommitted()
    return try store.documents(query).map { stored in
      SyncedDocument(local: stored, isCommitted: committed.contains(stored.path))
    }
  }

  func knownCommitted() throws(DocumentStoreError) -> Set<DocumentPath> {
    if let committed { return committed }
    var found = Set<DocumentPath>()
    for note in try store.documents(StructuredQuery(.collection(CacheKeys.remotes)))
    where note.fields["m"] == .boolean(true) {
      found.insert(CacheKeys.path(note.path.id))
    }
    committed = found
    return found
  }

  // MARK: The end of an operation

  func begin() -> CacheTransaction { CacheTransaction(store, sizes) }

  /// What the remote has is no loss: it will be told again.
  func finish(
    _ transaction: inout CacheTransaction, durability: StoreDurability? = .buffered
  ) throws(DocumentStoreError) {
    try releaseOrphans(&transaction)
    if globals != writtenGlobals { putGlobals(&transaction) }
    try transaction.commit(queue, durability)
    writtenGlobals = globals
    guard committed != nil else { return }
    for document in transaction.changedRemotes {
      if document.pending == .committed {
        committed?.insert(document.path)
      } else {
        committed?.remove(document.path)
      }
    }
  }

  private func putGlobals(_ transaction: inout CacheTransaction) {
    transaction.put(
      [
        ("b", .integer(globals.lastBatch)), ("c", .string(client)), ("s", .integer(globals.sequence)),
        ("t", .integer(Int64(globals.lastTarget))), ("u", .string(globals.queue)),
        ("v", .integer(globals.version.microseconds)),
      ], at: CacheKeys.globals)
  }

  // MARK: Users

  /// The writes of the user before stay where they are, and those of the new one come into sight. The documents that
  /// may look different.
  package func changeUser(_ user: String?) throws(DocumentStoreError) -> [SyncedDocument] {
    let before = Set(queue.paths)
    self.user = user
    globals.queue = CacheKeys.queueName(user)
    var transaction = begin()
    let paths = before.union(queue.paths)
    for path in paths { try transaction.touch(path) }
    var documents: [SyncedDocument] = []
    for path in paths { documents.append(local(try transaction.remote(path))) }
    try finish(&transaction)
    return documents
  }

  /// Where the write stream goes on.
  package var streamToken: [UInt8] { tokens[CacheKeys.queueName(user)] ?? [] }

  package func setStreamToken(_ token: [UInt8]) throws(DocumentStoreError) {
    guard token != streamToken else { return }
    tokens[CacheKeys.queueName(user)] = token.isEmpty ? nil : token
    var transaction = begin()
    putTokens(&transaction)
    try finish(&transaction)
  }

  /// Writes all tokens but those of users whose names are too long for a field. After a restart their streams begin
  /// without one.
  func putTokens(_ transaction: inout CacheTransaction) {
    let kept = tokens.filter { $0.key.utf8.count <= PathError.nameBytesMax }
    transaction.put(kept.map { ($0, .bytes($1)) }, at: CacheKeys.tokens)
  }
}

// A client's persistent state: documents, the queues of all users, and targets.
//
// Every operation is one commit of the store, or several commits if it does not fit in one
// (CacheTransaction+Commit.swift).
//
// Invariants:
//   - Memory equals the store, except for resume tokens whose write can wait (see `apply`).
//   - A document's own path holds the current user's view.
//
// A commit that fails because the disk is full changes nothing (LocalStore+FullDisk). After any other failed
// commit, memory is ahead of the store, and the client has to be opened again. The only exception is a failed
// write of a user, which is rolled back in memory.

package import DocumentStore

package final class LocalStore {
  /// The policy for removing unreferenced documents.
  package enum Collector: Sendable {
    /// Removes a document at the end of the operation that removed its last reference.
    case eager
    /// Removes the least recently used documents when the cache exceeds its size limit.
    case lru
  }

  struct Globals: Equatable {
    var lastBatch: Int64 = 0
    var lastTarget: Int32 = 0
    var sequence: Int64 = 0
    var version: SnapshotVersion = .none
    /// The outbox of the current user, whose local view is stored at the documents' own paths.
    var queue = CacheKeys.queueName(nil)
  }

  package let store: DocumentStore
  let collector: Collector
  let sizes: CommitSizes
  /// The id of this client. Every remote uses the id to identify the origin of batches.
  package private(set) var client: String
  package private(set) var user: String?
  var queues: [String?: WriteQueue] = [:]
  /// The number of parts of each batch that is stored in parts.
  var partCounts: [DocumentPath: Int] = [:]
  var tokens: [String: [UInt8]] = [:]
  /// The number of runs that the handshake of a write stream names.
  package var registrationsMax = 1000
  /// The rejections of each user that the app has not seen yet.
  var rejections: [String?: KeptRejections] = [:]
  package var rejectionLimits = RejectionLimits()
  /// The number of rejections that this run dropped because of the limits.
  package internal(set) var droppedRejectionCount = 0
  /// The number of answers that a power loss may take. The authority has to recognise their batches.
  package static let bufferedAnswersMax = 16
  /// The answers since the last one that was synced.
  var bufferedAnswers = 0
  /// The registrations of the runs of each user's queue.
  var runTokens: [String?: [RunID: RunTokens]] = [:]
  var targets: [TargetID: StoredTarget] = [:]
  var idsByText: [String: TargetID] = [:]
  /// The documents of each target. They are loaded when the target is first used after the store was opened.
  var keys: [TargetID: Set<DocumentPath>] = [:]
  /// The documents in the views of each target.
  var pins: [TargetID: Set<DocumentPath>] = [:]
  var pinCounts: [DocumentPath: Int] = [:]
  /// The pinned queries of each user.
  var storedPins: [String?: [StoredPin]] = [:]
  /// The versions on which each user's pending writes are based, for documents that have a newer version on
  /// the remote.
  var bases: [String?: [DocumentPath: SyncedDocument]] = [:]
  /// The resolver to call if another client changed a document before a pending write reached the remote.
  /// Without a resolver, the last write wins.
  package var resolver: ConflictResolver?
  var globals = Globals()
  private var writtenGlobals = Globals()
  /// Targets whose latest state is not in the store yet.
  var unwrittenTargets: Set<TargetID> = []
  /// Documents that lost a reference when the disk was full. The next commit releases them.
  var unreleased: Set<DocumentPath> = []
  /// Whether a part of a failed step is in the store.
  var needsRepair = false
  /// Whether a failed step may have changed documents in the store.
  var hasChangedUnseen = false
  /// The documents with accepted writes that the watch stream has not delivered yet. The set is nil until it
  /// is first needed.
  private var committed: Set<DocumentPath>?
  /// The runs of each user's queue that have pending batches which were exported.
  var exportedRuns: [String?: Set<RunID>] = [:]
  /// The time up to which batches were issued that may have been imported and forgotten, in microseconds
  /// since 1970. Nil if none was forgotten.
  var forgottenThrough: Int64?
  /// The run that new batches belong to.
  private(set) var run: RunID

  /// Opens the client state of a store, and initializes the state if there is none. `client` is the id that a
  /// newly initialized client gets. `run` identifies this open and must be unique.
  package init(
    _ store: DocumentStore, user: String?, collector: Collector, client: String,
    run: RunID = RunID(.random(in: 0...UInt64.max)), sizes: CommitSizes = CommitSizes()
  ) throws(DocumentStoreError) {
    self.store = store
    self.collector = collector
    self.client = client
    self.run = run
    self.sizes = sizes
    if try load() { try repair() } else { try flush(isNew: true) }
    if user != self.user { _ = try changeUser(user) }
  }

  /// Writes the resume tokens whose write was delayed.
  package func flush() throws(DocumentStoreError) { try flush(isNew: false) }

  func flush(isNew: Bool) throws(DocumentStoreError) {
    var transaction = begin()
    for id in unwrittenTargets.sorted() { if let target = targets[id] { transaction.put(target) } }
    if isNew { putGlobals(&transaction) }
    try finish(&transaction)
    unwrittenTargets = []
  }

  /// Begins another run. Its number follows from the last one, so that simulations are repeatable.
  func beginRun() {
    var random = SplitMix64(seed: run.value)
    run = RunID(random.next())
  }

  package var queue: WriteQueue { queues[user] ?? WriteQueue() }

  // The functions below access the queue in place, without a copy.

  func isPending(_ path: DocumentPath) -> Bool { queues[user]?.hasWrites(path) ?? false }

  /// Returns the document with the pending writes applied.
  func local(_ remote: SyncedDocument) -> SyncedDocument { queues[user]?.local(remote) ?? remote }

  func local(
    _ remote: SyncedDocument, insteadOf old: SyncedDocument, without removed: PendingBatch? = nil,
    changed: [BatchID: PendingBatch] = [:], seen: SyncedDocument
  ) -> SyncedDocument {
    queues[user]?.local(remote, insteadOf: old, without: removed, changed: changed, seen: seen) ?? remote
  }

  package var lastRemoteVersion: SnapshotVersion { globals.version }

  /// The name by which any remote identifies the current user's queue.
  package var queueName: String { "\(client)/\(CacheKeys.queueName(user))" }

  // MARK: Opening

  /// Returns the user whose view is stored at the documents' own paths. Returns nil if the store has no
  /// client state.
  package static func user(of store: DocumentStore) throws(DocumentStoreError) -> String?? {
    guard let stored = try store.document(at: CacheKeys.globals) else { return nil }
    return CacheKeys.user(queueName: stored.string("u"))
  }

  /// Loads the client state. Returns false if the store has none.
  func load() throws(DocumentStoreError) -> Bool {
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
    try loadPins()
    try loadRunTokens()
    try loadQueues()
    try loadBases()
    try loadRejections()
    try loadExports()
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

  /// Forgets everything that `load` loads.
  func removeAll() {
    (queues, partCounts, tokens, rejections, runTokens) = ([:], [:], [:], [:], [:])
    (targets, idsByText, keys, bases, unwrittenTargets) = ([:], [:], [:], [:], [])
    (exportedRuns, committed) = ([:], nil)
  }

  private func loadQueues() throws(DocumentStoreError) {
    var batches: [String?: [PendingBatch]] = [:]
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.queue))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]),
        let decoded = BatchCodec.decode(try bytes(ofBatch: stored)), parts[1] == "\(decoded.id)"
      else { throw RemoteNote.damaged(stored.path, store) }
      let batch =
        stored.fields["o"] == nil
        ? decoded
        : decoded.from(BatchOrigin(queue: stored.string("o"), batch: BatchID(stored.integer("i"))))
      if stored.fields["s"] == .boolean(true) { runTokens[user]?[batch.run]?.send(batch.remoteID) }
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

  /// Returns the user's view of a document. The document's own path already includes the pending writes,
  /// so the cost does not depend on their number.
  package func document(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    guard isPending(path), let stored = try store.document(at: path), stored.isPending else {
      return try composedDocument(path)
    }
    return SyncedDocument(local: stored, isCommitted: false)
  }

  /// Computes the user's view from the remote's version and all pending writes.
  package func composedDocument(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    local(try remoteDocument(path))
  }

  /// Whether the remote's document may have fields that this client does not know and that no pending write
  /// replaces.
  package func isAssumed(_ path: DocumentPath) throws(DocumentStoreError) -> Bool {
    try remoteDocument(path).isAssumed && !queue.batches(about: path).contains { $0.replacesDocument(path) }
  }

  /// Returns the result of a query in the user's view.
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

  /// Commits a transaction. By default the commit is only buffered, because the remote sends lost data again
  /// after a power loss.
  func finish(
    _ transaction: inout CacheTransaction, durability: StoreDurability? = .buffered
  ) throws(DocumentStoreError) {
    // A user's write has to be in one commit, which must not grow.
    let releases = !transaction.isAtomic && !unreleased.isEmpty
    if releases { transaction.orphans.formUnion(unreleased) }
    try releaseOrphans(&transaction)
    if globals != writtenGlobals { putGlobals(&transaction) }
    try transaction.commit(queue, durability)
    writtenGlobals = globals
    if releases { unreleased = [] }
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

  /// Switches to another user. The previous user's writes stay in their queue, and the new user's writes
  /// become visible. Returns the documents whose view may have changed.
  package func changeUser(_ user: String?) throws(DocumentStoreError) -> [SyncedDocument] {
    try step { () throws(DocumentStoreError) in try change(to: user) }
  }

  private func change(to user: String?) throws(DocumentStoreError) -> [SyncedDocument] {
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

  private static let tokensMax = 100

  /// The token with which the write stream resumes.
  package var streamToken: [UInt8] { tokens[CacheKeys.queueName(user)] ?? [] }

  /// Sets that token. If the disk is full, it is lost at the end of the process.
  package func setStreamToken(_ token: [UInt8]) throws(DocumentStoreError) {
    guard token != streamToken else { return }
    tokens[CacheKeys.queueName(user)] = token.isEmpty ? nil : token
    var transaction = begin()
    putTokens(&transaction)
    do throws(DocumentStoreError) { try finish(&transaction) } catch {
      guard case .full = error else { throw error }
    }
  }

  /// Writes the stream tokens. If there are many, drops those of other users without pending writes, who have
  /// nothing to resume. Leaves out a user whose name is too long for a field name. The write stream of such a
  /// user starts without a token after a restart.
  func putTokens(_ transaction: inout CacheTransaction) {
    if tokens.count > Self.tokensMax {
      let users = queues.filter { !$0.value.isEmpty }.keys
      let names = Set(users.map(CacheKeys.queueName)).union([CacheKeys.queueName(user)])
      tokens = tokens.filter { names.contains($0.key) }
    }
    let kept = tokens.filter { $0.key.utf8.count <= PathError.nameBytesMax }
    transaction.put(kept.map { ($0, .bytes($1)) }, at: CacheKeys.tokens)
  }
}

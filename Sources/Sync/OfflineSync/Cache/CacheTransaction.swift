// One change of a client's store: the documents read for it, and the entries to write.
//
// A path is touched if the remote's version or the pending writes of its document have changed. For a touched
// path, the commit writes:
//
//   - with pending writes: the remote's version to `__remote__`, and the local view to the document's own
//     path
//   - without pending writes: the remote's version to the document's own path, and to `__remote__` only the
//     facts that a stored document cannot express
//
// CacheTransaction+Commit.swift performs the commit.

internal import ByteStore
internal import DocumentStore

struct CacheTransaction {
  let store: DocumentStore
  let sizes: CommitSizes
  private(set) var remotes: [DocumentPath: Entry] = [:]
  private(set) var touched: Set<DocumentPath> = []
  private(set) var notes: [DocumentPath: Mutation] = [:]
  /// Documents that lost a reference and may have to be evicted.
  var orphans: Set<DocumentPath> = []
  /// Whether the step must become visible atomically.
  var isAtomic = false

  struct Entry {
    var document: SyncedDocument
    /// The remote's version of the document when the transaction began.
    let before: SyncedDocument
    /// Whether `__remote__` has an entry for the document.
    let hasNote: Bool
    /// The user's view after the commit, if it is known without applying all pending batches.
    var visible: SyncedDocument?
  }

  init(_ store: DocumentStore, _ sizes: CommitSizes = CommitSizes()) {
    self.store = store
    self.sizes = sizes
  }

  // MARK: Documents

  /// Returns the remote's version of the document, including changes that this transaction made.
  mutating func remote(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    try entry(path).document
  }

  /// Returns the remote's version as it was before this transaction.
  mutating func remoteBefore(_ path: DocumentPath) throws(DocumentStoreError) -> SyncedDocument {
    try entry(path).before
  }

  private mutating func entry(_ path: DocumentPath) throws(DocumentStoreError) -> Entry {
    if let entry = remotes[path] { return entry }
    let note = try store.document(at: CacheKeys.remote(path))
    let document = try RemoteNote.document(path, note, in: store)
    let entry = Entry(document: document, before: document, hasNote: note != nil)
    remotes[path] = entry
    return entry
  }

  /// Returns the user's view of a document as it was before this transaction.
  mutating func seen(
    _ path: DocumentPath, isPending: Bool
  ) throws(DocumentStoreError) -> SyncedDocument {
    let remote = try remoteBefore(path)
    guard isPending else { return remote }
    guard let stored = try store.document(at: path) else {
      return SyncedDocument(path, .absent, createTime: remote.createTime, pending: .local)
    }
    return SyncedDocument(local: stored, isCommitted: remote.pending == .committed)
  }

  mutating func setRemote(_ document: SyncedDocument) throws(DocumentStoreError) {
    _ = try entry(document.path)
    remotes[document.path]?.document = document
    touched.insert(document.path)
  }

  /// Marks a document as touched, because its pending writes or the remote's version changed. `visible` is
  /// the user's new view of the document, if the caller has already computed it.
  mutating func touch(
    _ path: DocumentPath, visible: SyncedDocument? = nil
  ) throws(DocumentStoreError) {
    _ = try entry(path)
    remotes[path]?.visible = visible
    touched.insert(path)
  }

  /// The remote's versions of all touched documents.
  var changedRemotes: [SyncedDocument] { touched.compactMap { remotes[$0]?.document } }

  // MARK: Notes

  mutating func put(_ fields: [StoredMap.Entry], at path: DocumentPath) {
    notes[path] = Self.note(StoredMap(fields), at: path)
  }

  mutating func remove(_ path: DocumentPath) { notes[path] = .delete(path) }

  static func note(_ fields: StoredMap, at path: DocumentPath) -> Mutation {
    let time = SnapshotVersion.none.timestamp
    return .place(StoredDocument(path: path, createTime: time, updateTime: time, fields: fields))
  }
}

/// The encoding of a document's entry in `__remote__`.
enum RemoteNote {
  /// Returns nil if no entry is needed, because the stored document at its own path already contains
  /// everything.
  static func fields(_ document: SyncedDocument, isPending: Bool) -> StoredMap? {
    let state: Int64
    switch document.content {
    case .found: state = 0
    case .absent: state = 1
    case .unknown: state = 2
    case .invalid: state = 3
    }
    let isCommitted = document.pending == .committed
    guard isPending || isCommitted || state == 1 || state == 2 else { return nil }
    var note = StoredMap([
      ("c", .integer(document.createTime.microseconds)), ("m", .boolean(isCommitted)),
      ("s", .integer(state)), ("v", .integer(document.version.microseconds)),
    ])
    if document.isAssumed { note["g"] = .boolean(true) }
    if isPending, let fields = document.fields {
      // The fields are encoded as bytes, because they may already have the maximum nesting depth.
      var bytes: [UInt8] = []
      BatchCodec.append(fields, to: &bytes)
      note["f"] = .bytes(bytes)
    }
    return note
  }

  static func document(
    _ path: DocumentPath, _ note: StoredDocument?, in store: DocumentStore
  ) throws(DocumentStoreError) -> SyncedDocument {
    guard let note else {
      guard let document = try store.document(at: path) else { return SyncedDocument(path) }
      return SyncedDocument(local: document, isCommitted: false)
    }
    var document = SyncedDocument(
      path, version: SnapshotVersion(microseconds: note.integer("v")),
      createTime: SnapshotVersion(microseconds: note.integer("c")),
      pending: note.fields["m"] == .boolean(true) ? .committed : .none)
    document.isAssumed = note.fields["g"] == .boolean(true)
    switch note.integer("s") {
    case 0:
      if case .bytes(let bytes)? = note.fields["f"] {
        guard let fields = RemoteNote.fields(bytes) else { throw damaged(note.path, store) }
        document.content = .found(fields)
      } else {
        guard let stored = try store.document(at: path) else { throw damaged(note.path, store) }
        document.content = .found(stored.fields)
      }
    case 1: document.content = .absent
    case 2: document.content = .unknown
    case 3: document.content = .invalid
    default: throw damaged(note.path, store)
    }
    return document
  }

  private static func fields(_ bytes: [UInt8]) -> StoredMap? {
    var reader = ByteReader(bytes.rawSpan)
    return BatchCodec.fields(&reader)
  }

  static func damaged(_ path: DocumentPath, _ store: DocumentStore) -> DocumentStoreError {
    var evidence = StorageEvidence(message: "\(path) in \(store.path) is not what a client writes there.")
    evidence.file = store.path
    return .corrupted(evidence)
  }
}

extension StoredDocument {
  func integer(_ name: String) -> Int64 {
    if case .integer(let number)? = fields[name] { number } else { 0 }
  }

  func bytes(_ name: String) -> [UInt8] {
    if case .bytes(let bytes)? = fields[name] { bytes } else { [] }
  }

  func string(_ name: String) -> String {
    if case .string(let text)? = fields[name] { text } else { "" }
  }
}

// The other end of remotes: a store that is the authority of other databases.

internal import ByteStore
public import DocumentStore
package import OfflineSync

/// Options for the authority of a store.
public struct AuthorityOptions: Sendable {
  /// The access rules at the beginning. `Authority.setRules` changes them.
  public var rules = AuthorityRules()
  /// Options of the ledger.
  package var ledger = WriteLedger.Options()

  /// The number of days for which the authority remembers the batches of a client that does not come. A
  /// batch that it may have accepted, and that comes again later than that, is refused with
  /// `RemoteError.outcomeUnknown`.
  public var runLifetimeDays: Int {
    get { Int(clamping: ledger.runLifetime / WriteLedger.Options.day) }
    set { ledger.runLifetime = Int64(max(1, min(newValue, 36_500))) * WriteLedger.Options.day }
  }

  /// Creates options for an authority that refuses nothing.
  public init() {}
}

/// A store as the authority of other databases, which are its clients. Usable from any thread.
///
/// An app can use a store directly and be the authority of other databases at once: commits of either kind
/// reach both. The store stays an ordinary database, and the app closes it.
///
/// ```swift
/// import DocumentStore
///
/// let store = try DocumentStore.open("shop-data")
/// let authority = try Authority.of(store)
/// let remote = LoopbackRemote(authority: authority)
/// ```
///
/// Give `remote` to `FirestoreSettings.remote` of the clients.
public final class Authority: Sendable {
  package let backend: any DocumentBackend
  package let life: AuthorityLife
  package let ledger: WriteLedger
  /// The store of the authority; nil if its documents are elsewhere.
  public let store: DocumentStore?
  private let access: Locked<AuthorityRules>
  private let sessions = SessionList()
  private let timedSessions = SessionList()

  /// Returns the authority of a store. While the authority lives, all calls for an open store return the same
  /// object, and the options of the first call hold.
  ///
  /// The store gets a reader of its change feed and a document for its tokens, unless it has them. Throws
  /// `failedPrecondition` if the store is a cache of a remote or is open for reading only, and `closed` if it
  /// is closed.
  public static func of(
    _ store: DocumentStore, options: AuthorityOptions = AuthorityOptions()
  ) throws(DocumentStoreError) -> Authority {
    try store.attachments.attachment(AuthoritySlot.self).authority { () throws(DocumentStoreError) in
      try Authority(store, options)
    }
  }

  private convenience init(
    _ store: DocumentStore, _ options: AuthorityOptions
  ) throws(DocumentStoreError) {
    guard try !store.isClientCache() else {
      throw .failedPrecondition(
        "The database in \(store.path) is a cache of a remote, so it cannot be the authority of others.")
    }
    // The feed becomes active before the first commit of the authority, so that each token names a commit.
    let backend = try EmbeddedBackend(store)
    do throws(RemoteError) { try self.init(backend, store, options: options) } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Creates the authority over a backend that is not a store of this process. The ledger and the life are
  /// documents of the backend.
  package convenience init(
    over backend: any DocumentBackend, options: AuthorityOptions = AuthorityOptions()
  ) throws(RemoteError) { try self.init(backend, nil, options: options) }

  private init(
    _ backend: any DocumentBackend, _ store: DocumentStore?, options: AuthorityOptions
  ) throws(RemoteError) {
    let access = Locked(options.rules)
    self.store = store
    self.access = access
    self.backend = backend
    life = try AuthorityLife(of: backend)
    ledger = try WriteLedger(of: life, options: options.ledger) { access.withLock { $0 } }
    life.observe { [sessions] in sessions.end(AuthorityLife.ended) }
  }

  /// The access rules.
  package var rules: AuthorityRules {
    get { access.withLock { $0 } }
    set { access.withLock { $0 = newValue } }
  }

  /// Changes the access rules from now on. Targets that clients watch already stay.
  public func setRules(_ rules: AuthorityRules) { self.rules = rules }

  // MARK: Sessions

  /// The prefix of document names of a database that has no other name.
  package static let documentsName = "projects/loopback/databases/(default)/documents"

  /// Ends a session when the store is set back.
  func add(_ session: any AuthoritySession) { sessions.add(session) }

  /// Ends all sessions, because the store closes.
  fileprivate func close() { sessions.close(RemoteError(.unavailable, "The database is closed.")) }

  /// Tells the time to a session after each write of a client, even if the write does not concern it. For
  /// the few sessions of this process.
  package func tellTime(to session: any AuthoritySession) { timedSessions.add(session) }

  /// Tells the present time to the sessions that are told it after each write.
  package func tellTime() { for session in timedSessions.all { session.advance() } }

  /// The meaning of a resume token for this authority.
  func check(_ token: [UInt8]) throws(RemoteError) -> AuthorityLife.TokenCheck {
    try life.check(token)
  }
}

/// Keeps one authority for each open store, as long as something else retains it.
private final class AuthoritySlot: StoreAttachment {
  private struct State {
    weak var authority: Authority?
  }

  private let state = Locked(State())

  func authority(
    _ create: () throws(DocumentStoreError) -> Authority
  ) throws(DocumentStoreError) -> Authority {
    // The lock is held while an authority is created, so that there are never two.
    try state.withLock { state throws(DocumentStoreError) in
      if let authority = state.authority { return authority }
      let created = try create()
      state.authority = created
      return created
    }
  }

  func didFindDamagedBlobs() {}

  func willClose() { state.withLock { $0.authority }?.close() }
}

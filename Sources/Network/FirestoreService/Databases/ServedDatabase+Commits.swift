// Commits of a database, and their results as callers are told them.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The client of a commit.
struct ServiceClient: Sendable {
  /// The rules decide what this user may write.
  var user: String?
  var connection: UInt64?
  /// The waits of the call, which end with it.
  var waits: CallWaits?
  /// The time at which all waits of the call for locks end.
  var waitsUntil = UInt64.max

  fileprivate var committing: CommitClient { CommitClient(user: user, connection: connection) }
}

extension ServedDatabase {
  /// The time and the results of a commit.
  typealias Committed = (version: SnapshotVersion, results: [WriteResult])
  typealias DidCommit = @Sendable (Result<Committed, RemoteError>) -> Void

  /// Starts a commit if the rules allow it, and calls `done` when it is durable and visible. It first waits
  /// for transactions that have locked a document. Without such waits, the commits of one connection are
  /// applied in the order of the calls. `done` is called later, or within the call.
  func commit(_ mutations: [Mutation], for client: ServiceClient, done: @escaping DidCommit) {
    do throws(RemoteError) { try authority.checkWrite(mutations, as: client.user) } catch {
      return done(.failure(error))
    }
    waitForLocks(of: mutations, for: client) { [self] error in
      if let error { return done(.failure(error)) }
      start(authority.life.commit(of: mutations), of: mutations, for: client, done)
    }
  }

  /// Starts the commit of a transaction, which ends it. It first waits for older transactions that have
  /// locked a document. The caller has asked the rules.
  func commit(
    _ mutations: [Mutation], in transaction: OpenTransaction, for client: ServiceClient,
    done: @escaping DidCommit
  ) throws(RemoteError) {
    guard let locks = transaction.locks else { throw OpenTransaction.closed }
    let reads = try transaction.takeForCommit()
    let commit: BackendCommit
    do throws(RemoteError) { commit = try self.commit(of: mutations, after: reads) } catch {
      reads?.close()
      locks.end()
      throw error
    }
    let paths = mutations.map(\.path)
    locks.beforeCommit(paths, of: client.waits) { [self] error in
      if let error {
        reads?.close()
        attempts.add(transaction.id, of: client.user, age: locks.owner.age, writes: paths)
        locks.end()
        return done(.failure(error))
      }
      start(commit, of: mutations, for: client) { [self] outcome in
        if case .failure(let error) = outcome, error.code == .aborted {
          attempts.add(transaction.id, of: client.user, age: locks.owner.age, writes: paths)
        }
        locks.end()
        done(outcome)
      }
    }
  }

  /// The commit of mutations whose preconditions name versions as the client knows them.
  private func commit(
    of mutations: [Mutation], after reads: (any BackendTransaction)?
  ) throws(RemoteError) -> BackendCommit {
    guard let reads else { return authority.life.commit(of: mutations) }
    var commit = BackendCommit(mutations)
    if authority.life.isNamed(in: mutations) {
      commit.mutations = try authority.life.asStored(mutations) { path throws(RemoteError) in
        try reads.documents(at: [path]).first.flatMap { $0?.document }
      }
    }
    commit.transaction = reads
    return commit
  }

  /// Waits until no transaction has locked one of the documents. Fails if the call of the client has ended
  /// meanwhile. `done` is called within this call, or later on any thread.
  func waitForLocks(
    of mutations: [Mutation], for client: ServiceClient, _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    locks.wait(for: mutations.map(\.path), of: client.waits, until: client.waitsUntil, done)
  }

  /// Starts a commit of one mutation. `done` also gets the document as it was before; nil if it did not
  /// exist.
  func commit(
    reading mutation: Mutation, for client: ServiceClient,
    done: @escaping @Sendable (Result<(CommitOutcome, StoredDocument?), RemoteError>) -> Void
  ) {
    let base = Locked<StoredDocument?>(nil)
    var commit = BackendCommit([mutation])
    // A document that is created was not there before.
    if mutation.precondition != .exists(false) {
      commit.check = BackendCheck([mutation.path]) { [self] read throws(RemoteError) in
        let document = try read(mutation.path)
        base.withLock { $0 = document }
        return try authority.life.asStored([mutation]) { _ in document }
      }
    }
    waitForLocks(of: [mutation], for: client) { [self, commit] error in
      if let error { return done(.failure(error)) }
      perform(commit, of: [mutation], for: client) { outcome in
        done(outcome.map { ($0, base.withLock { $0 }) })
      }
    }
  }

  private func start(
    _ commit: BackendCommit, of mutations: [Mutation], for client: ServiceClient, _ done: @escaping DidCommit
  ) {
    perform(commit, of: mutations, for: client) { [self] outcome in done(outcome.map(committed)) }
  }

  private func perform(
    _ commit: BackendCommit, of mutations: [Mutation], for client: ServiceClient,
    _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void
  ) {
    var commit = commit
    commit.client = client.committing
    authority.backend.commit(commit) { [self] outcome in
      authority.tellTime()
      if case .failure(.overloaded) = outcome { onRefusal?(.waitingCommits) }
      done(outcome.mapError { named($0, of: mutations) })
    }
  }

  private func committed(_ outcome: CommitOutcome) -> Committed {
    (authority.life.raised(SnapshotVersion(outcome.time)), authority.results(of: outcome))
  }
}

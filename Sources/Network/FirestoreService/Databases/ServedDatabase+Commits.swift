// Commits of a database, and their results as callers are told them.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension ServedDatabase {
  /// The time and the results of a commit.
  typealias Committed = (version: SnapshotVersion, results: [WriteResult])

  /// Starts a commit if the rules allow it, and calls `done` when it is durable and visible. The commits
  /// of one connection are applied in the order of the calls. `done` is called later, or within the call.
  func commit(
    _ mutations: [Mutation], as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<Committed, RemoteError>) -> Void
  ) {
    do throws(RemoteError) { try authority.checkWrite(mutations, as: user) } catch {
      return done(.failure(error))
    }
    var commit = authority.life.commit(of: mutations)
    commit.client = CommitClient(user: user, connection: connection)
    authority.backend.commit(commit) { [self] outcome in
      authority.tellTime()
      done(outcome.map(committed).mapError { named($0, of: mutations) })
    }
  }

  /// Commits in a transaction, and ends it. Returns nil if there are no mutations.
  func commit(
    _ mutations: [Mutation], in transaction: any BackendTransaction
  ) throws(RemoteError) -> CommitOutcome? {
    var stored = mutations
    if authority.life.isNamed(in: mutations) {
      stored = try authority.life.asStored(mutations) { path throws(RemoteError) in
        try transaction.documents(at: [path]).first.flatMap { $0?.document }
      }
    }
    defer { authority.tellTime() }
    do throws(RemoteError) {
      return try transaction.commit(stored, recording: nil)
    } catch {
      throw named(error, of: mutations)
    }
  }

  /// Commits, and returns when the commit is durable and visible.
  func commit(_ mutations: [Mutation], as user: String?) throws(RemoteError) -> Committed {
    do throws(RemoteError) {
      return try authority.commit(mutations, as: user)
    } catch {
      throw named(error, of: mutations)
    }
  }

  func committed(_ outcome: CommitOutcome) -> Committed {
    (authority.life.raised(SnapshotVersion(outcome.time)), authority.results(of: outcome))
  }
}

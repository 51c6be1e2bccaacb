// The attempts of one transaction, which either the store or a remote executes.

import ByteStore
package import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// One attempt.
package protocol TransactionBase: Sendable {
  /// The error with which the attempt ended before the block did; nil if the attempt goes on. The block's own
  /// error is then a consequence of it.
  var failure: (any Error)? { get }

  func document(at path: DocumentPath) throws -> StoredDocument?
  func write(_ mutation: Mutation) throws
  func commitWrites() throws
  func end()
}

/// Begins attempts until one succeeds.
package protocol TransactionAttempts: Sendable {
  func begin() throws -> any TransactionBase

  /// Waits before the next attempt, and returns whether any time is left for that attempt. Blocks. Throws if
  /// the transaction must end with another error than that of the last attempt.
  func wait(beforeAttempt attempt: Int) throws -> Bool

  /// Lets the transaction fail instead of waiting for its turn, now and later. Any thread may call this.
  func cancel()

  /// Must be called after the last attempt.
  func end()
}

// MARK: The store

extension StoreTransaction: TransactionBase {
  package func commitWrites() throws { try commit() }
}

/// The attempts of a transaction of the store. A transaction that has lost a race waits for its turn. It
/// blocks the thread of its own queue, where its block runs too.
final class LocalTransactionAttempts: TransactionAttempts {
  private let attempts: StoreTransactionAttempts
  private let requests: PendingRequests
  private let request: UInt64

  init(_ store: DocumentStore, requests: PendingRequests) {
    let attempts = StoreTransactionAttempts(of: store)
    self.attempts = attempts
    self.requests = requests
    // A database that is terminated does not wait until each of its transactions has had its turn.
    request = requests.open { attempts.cancel() }
  }

  func begin() throws -> any TransactionBase { try attempts.begin() }

  func wait(beforeAttempt attempt: Int) throws -> Bool {
    try attempts.wait(beforeAttempt: attempt)
    return true
  }

  func cancel() { attempts.cancel() }

  func end() {
    requests.close(request)
    attempts.end()
  }
}

// MARK: A read-only store

/// The attempts of a transaction that may only read.
final class ReadOnlyTransactionAttempts: TransactionAttempts {
  private let base: any TransactionAttempts
  private let directory: String
  private let hasWritten = Locked(false)

  init(_ base: any TransactionAttempts, _ directory: String) {
    self.base = base
    self.directory = directory
  }

  func begin() throws -> any TransactionBase { ReadOnlyTransaction(base: try base.begin(), attempts: self) }

  /// Ends a transaction that has tried to write, because every other attempt would fail, too.
  func wait(beforeAttempt attempt: Int) throws -> Bool {
    guard !hasWritten.withLock({ $0 }) else { return false }
    return try base.wait(beforeAttempt: attempt)
  }

  func cancel() { base.cancel() }

  func end() { base.end() }

  fileprivate func refuseWrite() throws {
    hasWritten.withLock { $0 = true }
    throw FirestoreErrors.readOnly(directory)
  }
}

private struct ReadOnlyTransaction: TransactionBase {
  let base: any TransactionBase
  let attempts: ReadOnlyTransactionAttempts

  var failure: (any Error)? { base.failure }

  func document(at path: DocumentPath) throws -> StoredDocument? { try base.document(at: path) }

  func write(_ mutation: Mutation) throws { try attempts.refuseWrite() }

  func commitWrites() throws { try base.commitWrites() }

  func end() { base.end() }
}

// MARK: A remote

final class RemoteTransactionAttempts: TransactionAttempts {
  /// The time limit for all requests of a transaction together, as a multiple of the limit for one request:
  /// 270 seconds instead of 60.
  private static let limitOfAll = 4.5

  private let remote: any Remote
  private let user: String?
  private let limit: RemoteTimeLimit
  private let backoff: Locked<Backoff>
  private let requests: PendingRequests
  private let request: UInt64

  init(
    remote: any Remote, user: String?, timeLimit: Double, requests: PendingRequests,
    simulation: (any Simulation)? = nil
  ) {
    self.remote = remote
    self.user = user
    self.requests = requests
    let limit = RemoteTimeLimit(seconds: timeLimit * Self.limitOfAll, each: timeLimit, in: simulation)
    self.limit = limit
    // When the database is terminated, the limit is ended early, so that termination does not wait for a
    // remote that may never reply.
    request = requests.open { limit.end(with: PendingRequests.terminated) }
    var backoff = Backoff(seed: simulation?.random() ?? .random(in: 0...UInt64.max))
    // Skip the first pause, which has length zero, so that there is a real pause before the second attempt:
    // other clients use the remote too.
    _ = backoff.next()
    self.backoff = Locked(backoff)
  }

  func begin() -> any TransactionBase { RemoteTransaction(remote, as: user, limit: limit) }

  func wait(beforeAttempt attempt: Int) -> Bool {
    let pause = backoff.withLock { $0.next() }
    return limit.pause(Double(pause) / 1_000_000)
  }

  /// Does nothing, because there are no turns. A request in progress, or a pause, is completed.
  func cancel() {}

  func end() { requests.close(request) }
}

/// A transaction that a remote executes. Its reads go to the remote, and its commit checks that no document
/// has changed since the transaction read it. The calling thread blocks until the remote replies.
final class RemoteTransaction: TransactionBase {
  private let remote: any Remote
  private let user: String?
  private let limit: RemoteTimeLimit
  private let state = Locked(State())

  private struct State: Sendable {
    /// The version of each document that was read; `.none` if the document did not exist.
    var versions: [DocumentPath: SnapshotVersion] = [:]
    var mutations: [Mutation] = []
  }

  /// Nil, because a failed read does not end an attempt. The block decides whether the transaction fails.
  var failure: (any Error)? { nil }

  init(_ remote: any Remote, as user: String?, limit: RemoteTimeLimit) {
    self.remote = remote
    self.user = user
    self.limit = limit
  }

  func document(at path: DocumentPath) throws -> StoredDocument? {
    guard state.withLock({ $0.mutations.isEmpty }) else {
      throw DocumentStoreError.invalidArgument(
        "Firestore transactions require all reads to be executed before all writes")
    }
    let found = try wait { remote.documents(at: [path], as: user, $0) }
    guard var document = found.first else { return nil }
    do throws(RemoteRefusal) { document = try document.admitted(at: path) } catch {
      throw OfflineSyncError.refused(error)
    }
    let version = document.fields == nil ? SnapshotVersion.none : document.version
    let isTwice = state.withLock { state in
      defer { state.versions[path] = version }
      return state.versions[path].map { $0 != version } ?? false
    }
    guard !isTwice else {
      throw DocumentStoreError.aborted("Document version changed between two reads.")
    }
    return document.stored
  }

  func write(_ mutation: Mutation) throws {
    try state.withLock { state in
      if case .patch = mutation.change, mutation.precondition == .exists(true),
        state.versions[mutation.path] == SnapshotVersion.none,
        !state.mutations.contains(where: { $0.path == mutation.path })
      {
        throw DocumentStoreError.invalidArgument("Can't update a document that doesn't exist.")
      }
      state.mutations.append(mutation)
    }
  }

  func commitWrites() throws {
    let (versions, mutations) = state.withLock { ($0.versions, $0.mutations) }
    // A transaction without writes is checked too. The check proves that all its reads were valid at one
    // point in time.
    guard !versions.isEmpty || !mutations.isEmpty else { return }
    // At this point the commit has not been sent, so this error leaves no doubt about the outcome.
    if limit.isOver { throw OfflineSyncError.remote(limit.unanswered) }
    do {
      _ = try wait { remote.commit(Self.checked(mutations, versions), as: user, $0) }
    } catch OfflineSyncError.remote(let error)
      where error.code == .deadlineExceeded || error == PendingRequests.terminated
    {
      // The remote may have committed the transaction, so another attempt could commit it twice.
      throw UnansweredCommit()
    }
  }

  /// The writes of a commit that proves that the read documents still have these versions. The first write of
  /// a document checks its version, because servers refuse commits that verify and write one document.
  private static func checked(
    _ mutations: [Mutation], _ versions: [DocumentPath: SnapshotVersion]
  ) -> [Mutation] {
    var unwritten = versions
    let writes = mutations.map { mutation in
      guard let version = unwritten.removeValue(forKey: mutation.path) else { return mutation }
      return Mutation(mutation.path, mutation.change, precondition: precondition(version))
    }
    let verifications = unwritten.sorted { $0.key.description < $1.key.description }.map { path, version in
      Mutation.verify(path, precondition(version))
    }
    return verifications + writes
  }

  private static func precondition(_ version: SnapshotVersion) -> Precondition {
    version == .none ? .exists(false) : .updateTime(version.stored)
  }

  func end() {}

  private func wait<Value: Sendable>(
    _ request: (@escaping @Sendable (Result<Value, RemoteError>) -> Void) -> Void
  ) throws -> Value {
    let result: Result<Value, RemoteError> = limit.wait { done in
      let reply = RemoteReply<Value>(limit, done)
      request { reply.take($0) }
    }
    return try result.mapError { OfflineSyncError.remote($0) }.get()
  }
}

/// The error of a transaction whose outcome is unknown. It is not retried.
struct UnansweredCommit: Error {}

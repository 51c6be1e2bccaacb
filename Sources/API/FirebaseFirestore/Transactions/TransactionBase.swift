// The implementation of a transaction, by the store or by a remote.

import ByteStore
import DocumentStore
import Foundation
import OfflineSync

protocol TransactionBase: Sendable {
  func document(at path: DocumentPath) throws -> StoredDocument?
  func write(_ mutation: Mutation) throws
  func commitWrites() throws
  func end()
}

extension StoreTransaction: TransactionBase {
  func commitWrites() throws { try commit() }
}

/// A transaction at the remote. It reads there, and the commit checks that no document has changed since it
/// was read. Its thread blocks until the remote answers.
final class RemoteTransaction: TransactionBase {
  private let remote: any Remote
  private let user: String?
  private let patience: Patience
  private let state = Locked(State())

  private struct State: Sendable {
    /// The version of each document that was read; `.none` if it was absent.
    var versions: [DocumentPath: SnapshotVersion] = [:]
    var mutations: [Mutation] = []
  }

  init(_ remote: any Remote, as user: String?, _ patience: Patience) {
    self.remote = remote
    self.user = user
    self.patience = patience
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
    // A transaction without writes is checked too: this proves that all its reads were valid at one point
    // in time.
    guard !versions.isEmpty || !mutations.isEmpty else { return }
    let checks = versions.sorted { $0.key.description < $1.key.description }.map { path, version in
      Mutation.verify(path, version == .none ? .exists(false) : .updateTime(version.stored))
    }
    // The commit has certainly not been sent yet.
    if patience.isOver { throw OfflineSyncError.remote(patience.unanswered) }
    do {
      _ = try wait { remote.commit(checks + mutations, as: user, $0) }
    } catch OfflineSyncError.remote(let error)
      where error.code == .deadlineExceeded || error == OpenQuestions.terminated
    {
      // The remote may have committed the transaction, so another attempt could commit it twice.
      throw UnansweredCommit()
    }
  }

  func end() {}

  private func wait<Value: Sendable>(
    _ ask: (@escaping @Sendable (Result<Value, RemoteError>) -> Void) -> Void
  ) throws -> Value {
    let answer = Locked<Result<Value, RemoteError>?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
    let first = FirstAnswer<Value>(patience) { result in
      answer.withLock { $0 = result }
      isAnswered.signal()
    }
    ask { first.take($0) }
    isAnswered.wait()
    guard let result = answer.withLock({ $0 }) else { throw OfflineSyncError.remote(RemoteError(.unknown)) }
    return try result.mapError { OfflineSyncError.remote($0) }.get()
  }
}

/// The error of a transaction whose outcome is unknown. It is not retried.
struct UnansweredCommit: Error {}

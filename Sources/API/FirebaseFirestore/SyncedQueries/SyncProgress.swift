// How far the sync of a database is, for display.

private import ByteStore
import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// The connection of a database to its remote, its pending writes, and the state of each query.
///
/// ```swift
/// for try await progress in Firestore.firestore().syncProgress {
///   if let time = progress.syncedUpTo { print("Synced up to \(time)") }
///   if progress.connection == .offline { print("Offline: \(progress.error?.localizedDescription ?? "")") }
/// }
/// ```
public struct SyncProgress: Hashable, Sendable {
  /// The states of a connection.
  public enum Connection: String, Hashable, Sendable, Codable {
    /// The database has no remote.
    case noRemote
    /// There are no listeners, no pins and no pending writes, so no connection is needed.
    case idle
    /// The connection is being opened, or the remote has not said anything yet.
    case connecting
    /// The remote answers.
    case connected
    /// The remote could not be reached, and the database tries again. Or the database is paused.
    case offline
    /// `disableNetwork()` was called.
    case disabled
  }

  /// The state of the connection.
  public let connection: Connection
  /// The reason why the sync is paused; nil if it is not. A paused database is usually `offline`, and it
  /// is `connected` while it finds out whether it can continue.
  public let pause: SyncPause?
  /// The error that ended the last connection or attempt, in `FirestoreErrorDomain`; nil if the remote
  /// answers.
  public let error: NSError?
  /// The time of the remote up to which all watched queries are complete. It stays when the connection is
  /// lost. It is nil if one of the queries was never loaded, or if no query is watched.
  public let syncedUpTo: Date?
  /// The number of batches of writes that the remote has not answered.
  public let pendingWriteCount: Int
  /// The time when the oldest pending write was issued; nil if none is pending. An old write on a connected
  /// database means that the remote refuses it again and again, or does not answer.
  public let oldestPendingWrite: Date?
  /// The queries that listeners and pins watch.
  public let queries: [QueryProgress]

  /// Whether the remote answers, all watched queries are current, no write is pending, and the sync is not
  /// paused. True without a remote.
  public var isSynced: Bool {
    if pause != nil { return false }
    return switch connection {
    case .noRemote: true
    case .idle, .connected: pendingWriteCount == 0 && queries.allSatisfy { $0.state == .current }
    case .connecting, .offline, .disabled: false
    }
  }
}

extension Firestore {
  /// Calls `listener` on the callback queue with the progress of the sync. Calls it at once, and again
  /// whenever the connection, a query or the outbox changes. While documents are received, it is called up to
  /// ten times a second. If the database cannot be used, the listener receives one error and the listening
  /// ends. Without a remote, the listener is called once.
  @discardableResult
  public func addSyncProgressListener(
    _ listener: @escaping (SyncProgress?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(SyncProgress?, (any Error)?)> { listener($0.0, $0.1) }
    return listenToProgress(client(), on: callbackQueue) { result in
      switch result {
      case .success(let progress): callback((progress, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// The progress of the sync as a sequence, without a callback queue. If the loop is slow, it receives only
  /// the newest progress. The sequence ends when the database is terminated.
  public var syncProgress: AsyncThrowingStream<SyncProgress, any Error> {
    progressStream(of: SyncProgress.self) { client, queue, handler in
      self.listenToProgress(client, on: queue, handler)
    }
  }

  private func listenToProgress(
    _ client: any FirestoreClient, on queue: DispatchQueue, _ handler: @escaping Answer<SyncProgress>
  ) -> Listening {
    client.listenToProgress(on: queue, withoutRemote: .withoutRemote, handler: handler) { [weak self] in
      SyncProgress($0, of: self)
    }
  }

  /// Creates a sequence of the newest values that `listen` delivers.
  func progressStream<Value: Sendable>(
    of type: Value.Type,
    listen: (any FirestoreClient, DispatchQueue, @escaping Answer<Value>) -> Listening
  ) -> AsyncThrowingStream<Value, any Error> {
    AsyncThrowingStream(type, bufferingPolicy: .bufferingNewest(1)) { continuation in
      let queue = DispatchQueue.serial("dugout.firestore.progress", in: simulation)
      let registration = listen(client(), queue) { result in
        switch result {
        case .success(let value): continuation.yield(value)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.whenRemoved { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }

  /// Returns a query in the class in which an app creates it.
  func query(_ structured: StructuredQuery) -> Query {
    if case .collection(let path) = structured.scope, structured == StructuredQuery(structured.scope) {
      return CollectionReference(self, path.segments)
    }
    return Query(self, structured)
  }
}

extension FirestoreClient {
  /// Calls `handler` with what `convert` makes of the progress, unless it is equal to the last value.
  func listenToProgress<Value: Sendable & Equatable>(
    on queue: DispatchQueue, withoutRemote value: Value, handler: @escaping Answer<Value>,
    convert: @escaping @Sendable (SyncProgressState) -> Value
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: value, handler: handler) { driver, deliver in
      let last = Locked<Value?>(nil)
      let id = driver.listenToProgress { result in
        let converted = result.map(convert).mapError(FirestoreErrors.translate)
        if case .success(let value) = converted {
          let isNew = last.withLock { last in
            defer { last = value }
            return last != value
          }
          guard isNew else { return }
        }
        deliver(converted)
      }
      return { driver.unlistenToProgress(id) }
    }
  }
}

extension SyncProgress {
  fileprivate static let withoutRemote = SyncProgress(
    connection: .noRemote, pause: nil, error: nil, syncedUpTo: nil, pendingWriteCount: 0,
    oldestPendingWrite: nil, queries: [])

  fileprivate init(_ progress: SyncProgressState, of firestore: Firestore?) {
    connection =
      switch progress.connection {
      case .idle: .idle
      case .connecting: .connecting
      case .connected: .connected
      case .offline: .offline
      case .disabled: .disabled
      }
    pause =
      switch progress.pause {
      case nil: nil
      case .diskFull: .diskFull
      case .meteredNetwork: .meteredNetwork
      }
    error = progress.error.map { FirestoreErrors.translate(.remote($0)) as NSError }
    syncedUpTo = Date(progress.version)
    pendingWriteCount = progress.pendingCount
    oldestPendingWrite = progress.oldest.map { Timestamp($0).dateValue() }
    queries = progress.queries.compactMap { query in
      firestore.map { QueryProgress(query, of: $0.query(query.query)) }
    }
  }
}

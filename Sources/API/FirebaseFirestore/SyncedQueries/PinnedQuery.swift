// Queries that are kept in the cache and in sync without a listener.

import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// The maximum size of a pinned query.
public struct PinBudget: Hashable, Sendable, Codable {
  /// The maximum number of documents; nil for no limit.
  public var documentsMax: Int?
  /// The maximum size of the documents in the database, in bytes; nil for no limit.
  public var bytesMax: Int?

  /// Creates a budget. A negative limit counts as zero.
  public init(documentsMax: Int? = nil, bytesMax: Int? = nil) {
    self.documentsMax = documentsMax
    self.bytesMax = bytesMax
  }

  /// A budget of documents.
  public static func documents(_ count: Int) -> PinBudget { PinBudget(documentsMax: count) }

  /// A budget of bytes.
  public static func bytes(_ count: Int) -> PinBudget { PinBudget(bytesMax: count) }
}

/// A query that the current user has pinned for offline use.
public struct PinnedQuery: Hashable, Sendable {
  /// The query.
  public let query: Query
  /// The maximum size of its documents.
  public let budget: PinBudget
  /// Whether the documents have exceeded the budget. The pin does not keep them in sync or in the cache then,
  /// until `pin(budget:)` renews it.
  public let isOverBudget: Bool
  /// The number of its documents in the cache.
  public let documentCount: Int
  /// The approximate size of these documents in the database.
  public let byteCount: Int
  /// The error with which the remote has refused the query, in `FirestoreErrorDomain`; nil if it did not. The
  /// query is tried again when the database is opened, when the user changes, and by `pin(budget:)`.
  public let error: NSError?
}

extension Query {
  /// Pins the query for the current user: its documents are loaded, kept in sync while the database is open,
  /// and not evicted from the cache. No listener is needed. The pin is stored, and holds until `unpin()`. A
  /// second call changes the budget.
  ///
  /// The call returns when the pin is stored, online or offline. `syncProgress` shows the loading.
  ///
  /// If the documents exceed the budget, the pin stays, but is suspended: the query is not watched for it,
  /// and its documents may be evicted. `pinnedQueries()` shows that.
  ///
  /// ```swift
  /// let messages = Firestore.firestore().collection("messages")
  /// let recent = messages.order(by: "sent", descending: true).limit(to: 500)
  /// try await recent.pin(budget: PinBudget(documentsMax: 500, bytesMax: 5 << 20))
  /// ```
  ///
  /// Throws `invalidArgument` for a query that cannot be run, and `resourceExhausted` if the disk is full.
  /// Without a remote, the call has no effect.
  nonisolated(nonsending) public func pin(budget: PinBudget) async throws {
    let query = try runnable
    let limits = PinLimits(
      documentsMax: budget.documentsMax.map { max(0, $0) }, bytesMax: budget.bytesMax.map { max(0, $0) })
    try await firestore.client().ask(withoutRemote: ()) { driver, done in
      driver.pin(query, limits) { done($0.map { .failure($0) } ?? .success(())) }
    }
  }

  /// Removes the current user's pin of the query. Its documents stay in the cache like those of a query
  /// without a listener. A query that is not pinned is no error.
  nonisolated(nonsending) public func unpin() async throws {
    let query = try runnable
    try await firestore.client().ask(withoutRemote: ()) { driver, done in
      driver.unpin(query) { done($0.map { .failure($0) } ?? .success(())) }
    }
  }
}

extension Firestore {
  /// Returns the queries that the current user has pinned, in the order of the pins. Without a remote, the
  /// list is empty.
  nonisolated(nonsending) public func pinnedQueries() async throws -> [PinnedQuery] {
    let states = try await client().ask(withoutRemote: []) { driver, done in
      driver.inspect { engine in
        done(
          Result { () throws(DocumentStoreError) in try engine.pinStates() }.mapError { .store($0) })
      }
    }
    return states.map { PinnedQuery($0, of: query($0.pin.query)) }
  }
}

extension PinnedQuery {
  fileprivate init(_ state: PinState, of query: Query) {
    self.query = query
    budget = PinBudget(documentsMax: state.pin.budget.documentsMax, bytesMax: state.pin.budget.bytesMax)
    isOverBudget = state.pin.isOverBudget
    documentCount = state.documentCount
    byteCount = state.byteCount
    error = state.error.map { FirestoreErrors.translate(.remote($0)) as NSError }
  }
}

extension FirestoreClient {
  nonisolated(nonsending) fileprivate func ask<Value: Sendable>(
    withoutRemote value: Value,
    _ request:
      @escaping @Sendable (
        SyncDriver, @escaping @Sendable (Result<Value, OfflineSyncError>) -> Void
      ) -> Void
  ) async throws -> Value {
    try await awaitResult { (done: @escaping Answer<Value>) in
      askDriver(withoutRemote: value, done) { driver, done in
        request(driver) { done($0.mapError(FirestoreErrors.translate)) }
      }
    }
  }
}

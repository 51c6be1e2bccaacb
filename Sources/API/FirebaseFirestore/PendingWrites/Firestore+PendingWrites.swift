// The users of a database with a remote, and their pending writes.

import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// A batch of writes that the remote has not answered yet. The writes were issued together and are sent
/// together.
public struct PendingWrite: Hashable, Sendable, Identifiable {
  /// The number of the batch. Later batches have greater numbers.
  public let id: Int64
  /// The paths of the documents that the batch writes.
  public let paths: [String]
  /// The time when the writes were issued.
  public let date: Date
  /// Whether the writes were sent. The remote may already have applied sent writes, but it has not answered.
  public let isSent: Bool

  init(_ id: BatchID, _ paths: [DocumentPath], time: StoredTimestamp, isSent: Bool) {
    self.id = id.value
    self.paths = paths.map(\.description)
    date = Timestamp(time).dateValue()
    self.isSent = isSent
  }
}

extension Firestore {
  /// Changes the current user; nil means no user. Each instance starts without a user, or with the user whom
  /// FirebaseAuth has signed in to its app. Pending writes of the previous user stay unsent and hidden until
  /// that user returns. Without a remote, the call has no effect.
  nonisolated(nonsending) public func changeUser(_ userID: String?) async throws {
    try await client().send(.changeUser(userID))
  }

  /// Returns the current user's writes that the remote has not answered, in the order in which they were
  /// issued. Without a remote, the list is empty.
  nonisolated(nonsending) public func pendingWrites() async throws -> [PendingWrite] {
    try await client().pendingWrites().map {
      PendingWrite($0.batch.id, $0.batch.paths, time: $0.batch.time, isSent: $0.isSent)
    }
  }

  /// Removes writes from the outbox. Their local effect disappears, and their completions receive
  /// `cancelled`. If the writes were already sent, the remote may still apply them. Their effect then becomes
  /// visible again.
  nonisolated(nonsending) public func cancelPendingWrite(_ id: PendingWrite.ID) async throws {
    try await client().send(.cancelWrite(BatchID(id)))
  }
}

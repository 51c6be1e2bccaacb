// Users of a database with a remote, and the writes of theirs that wait.

import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// Writes that the remote has not answered: made together, and sent together.
public struct PendingWrite: Hashable, Sendable, Identifiable {
  /// Later ones have greater numbers.
  public let id: Int64
  /// Of the documents.
  public let paths: [String]
  /// When they were made.
  public let date: Date
  /// On their way: the remote may have them already, and its answer is awaited.
  public let isSent: Bool

  init(_ id: BatchID, _ paths: [DocumentPath], _ time: StoredTimestamp, isSent: Bool) {
    self.id = id.value
    self.paths = paths.map(\.description)
    date = Timestamp(time).dateValue()
    self.isSent = isSent
  }
}

extension Firestore {
  /// The user whose database this is from now on; nil for nobody, as at the start of each instance. Writes of the
  /// user before stay where they are, unsent and out of sight, until that user is back. Without a remote there are no
  /// users, and nothing happens.
  nonisolated(nonsending) public func changeUser(_ userID: String?) async throws {
    try await client().send(.changeUser(userID))
  }

  /// The writes of the current user that the remote has not answered, in their order. Without a remote there are
  /// none.
  nonisolated(nonsending) public func pendingWrites() async throws -> [PendingWrite] {
    let client = client()
    await client.wait(for: client.lastIssuedWrite)
    guard let driver = try await client.openedDriver() else { return [] }
    return try await client.inspected(driver) { engine throws(DocumentStoreError) in
      let sentCount = engine.progress.sentCount
      return engine.pendingBatches.enumerated().map { place, batch in
        PendingWrite(batch.id, batch.paths, batch.time, isSent: place < sentCount)
      }
    }
  }

  /// Takes writes out of the queue: their effect vanishes here, and whoever waits for them gets `cancelled`. If they
  /// were on their way to the remote, they may have happened there; then they come back as what the remote has.
  nonisolated(nonsending) public func cancelPendingWrite(_ id: PendingWrite.ID) async throws {
    try await client().send(.cancelWrite(BatchID(id)))
  }
}

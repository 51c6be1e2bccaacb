// Databases that are read beside their writer: their refreshes, and the age of what they show.

import ByteStore
import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// The age of the state that a read-only database shows.
public struct FirestoreSnapshotAge: Hashable, Sendable, Codable {
  /// The time of the last commit that is shown, by the writer's clock; nil if there is none.
  public let lastCommit: Date?
  /// The time since the last look at the writer's files, in seconds. All commits that were durable before
  /// that look are shown.
  public let secondsSinceRefresh: Double
  /// The number of bytes of commits that the last look found and does not show, because they may not be on
  /// stable storage yet.
  public let pendingByteCount: UInt64
  /// The error of the last refresh as a sentence; nil if it succeeded. While refreshes fail, the database
  /// continues to show a committed state.
  public let failure: String?
}

extension Firestore {
  /// Shows what the writer has committed since the last refresh. Returns whether there was anything.
  /// Listeners receive the changes. The call blocks on the disk; tasks use the async form.
  ///
  /// A commit can be shown when it is on stable storage and the writer has recorded that in its files, up to
  /// a tenth of a second after the commit if no other commit follows.
  ///
  /// Throws `failedPrecondition` if the database was deleted or moved, and if another database or an older
  /// copy of this one is in its place. Throws `dataLoss` if it is damaged. After an error, the database
  /// continues to show a committed state, and the next refresh tries again. Returns false for a database that
  /// is open for writing.
  @discardableResult
  public func refresh() throws -> Bool {
    let store = try livingClient().store
    return try store.readBlocking(after: 0) { view throws(DocumentStoreError) in try view.store.refresh() }
  }

  /// Shows what the writer has committed since the last refresh, like the blocking form.
  @discardableResult
  nonisolated(nonsending) public func refresh() async throws -> Bool {
    let store = try livingClient().store
    return try await store.performed { view throws(DocumentStoreError) in try view.store.refresh() }
  }

  /// Follows the writer of a read-only database until the registration is removed, so that reads without
  /// listeners show a recent state too. The interval is `FirestoreSettings.refreshInterval`. Has no effect
  /// on a database that is open for writing.
  ///
  /// ```swift
  /// let shop = try Firestore.open(at: URL(fileURLWithPath: "/srv/data/shop"), access: .readOnly)
  /// let following = shop.follow()
  /// print(try shop.document("orders/1").read().data() ?? [:])
  /// following.remove()
  /// ```
  @discardableResult
  public func follow() -> any ListenerRegistration { client().addListener() }

  /// The age of the state that a read-only database shows; nil for a database that is not open or is open
  /// for writing. Does not wait for the disk.
  public var snapshotAge: FirestoreSnapshotAge? {
    guard let age = existingClient.client?.store.openView?.store.readerAge else { return nil }
    return FirestoreSnapshotAge(
      lastCommit: age.lastCommit.map { Timestamp($0).dateValue() },
      secondsSinceRefresh: age.secondsSinceRefresh, pendingByteCount: age.bytesNotDurable,
      failure: age.failure.map { FirestoreErrors.translate($0).localizedDescription })
  }
}

// The remote of an app's buckets, and the changes that are queued for it.

import DocumentStore
public import Foundation
import ObjectStore
public import ObjectSync
public import OfflineSync

extension Storage {
  /// The remote that is authoritative for all buckets of the app. With a remote, the local store is a cache
  /// with a queue of changes. The app's directory records that a remote was attached; afterwards the buckets
  /// cannot be used without a remote. Set this property before the first operation. Setting it later traps.
  public var remote: (any BlobRemote)? {
    get { client.settings.remote }
    set { setRemote { $0.remote = newValue } }
  }

  /// The treatment of existing objects when a remote is attached for the first time. With `.refuse`, the
  /// first operation fails if any objects exist.
  public var remoteAttachment: RemoteAttachment {
    get { client.settings.attachment }
    set { setRemote { $0.attachment = newValue } }
  }

  /// The condition under which an upload, an update or a deletion completes. It has no effect without a
  /// remote.
  public var acknowledgement: StorageAcknowledgement {
    get { client.settings.acknowledgement }
    set { setRemote { $0.acknowledgement = newValue } }
  }

  private func setRemote(_ change: (inout RemoteSettings) -> Void) {
    guard client.changeSettings(change) else {
      ProgrammerError.trap("The remote of an app's buckets has to be set before their first use.")
    }
  }

  /// The changes of this bucket that the remote has not acknowledged or rejected yet, in order. Empty without
  /// a remote.
  nonisolated(nonsending) public func pendingChanges() async throws -> [PendingChange] {
    let name = bucket
    return try await reference().answered { [self] () throws(StorageError) in
      _ = try client.objects()
      do throws(DocumentStoreError) {
        let changes = try client.backend.queuedChanges()
        return changes.filter { $0.path.bucket == name }.map { PendingChange($0, self) }
      } catch {
        throw StorageErrors.translate(error, name, object: "")
      }
    }
  }

  /// Returns when the remote has acknowledged or rejected all changes that are pending now, in all buckets of
  /// the app. If the file of a change cannot be read, that change stays pending. In that case the method
  /// throws, after the remote has handled all other changes.
  nonisolated(nonsending) public func waitForPendingChanges() async throws {
    let name = bucket
    let backend = try await reference().answered { [self] () throws(StorageError) in
      _ = try client.objects()
      return client.backend
    }
    let failure: BlobSyncError? = await awaitValue { backend.waitForChanges($0) }
    if let failure { throw StorageErrors.translate(failure, name, object: "") }
  }
}

/// A change of an object that is applied locally and that the remote has not accepted or rejected yet.
public struct PendingChange: Sendable, Identifiable {
  /// The kinds of changes.
  public enum Kind: Hashable, Sendable {
    /// An upload of new content.
    case upload(byteCount: Int64)
    /// New metadata.
    case metadata
    /// The deletion of the object.
    case deletion
  }

  /// The number of the change; later changes have greater numbers.
  public let id: Int64
  /// The object that changes.
  public let reference: StorageReference
  /// The kind of the change.
  public let kind: Kind
  /// The time when the caller made the change.
  public let date: Date

  init(_ change: QueuedChange, _ storage: Storage) {
    id = change.number
    reference = StorageReference(
      storage, StoragePath(bucket: change.path.bucket, object: change.path.name.text))
    switch change.kind {
    case .put(let object): kind = .upload(byteCount: Int64(clamping: object.byteCount))
    case .update: kind = .metadata
    case .delete: kind = .deletion
    }
    date = Timestamp(change.time).dateValue()
  }

  /// Removes the change from the queue and reverts its local effect. Callers that wait for the change receive
  /// `cancelled`. Returns false if the remote had already accepted or rejected the change. If the change was
  /// already sent, the remote may still apply it; the effect of the change then becomes visible again.
  @discardableResult
  nonisolated(nonsending) public func cancel() async throws -> Bool {
    let (reference, number) = (reference, id)
    let backend = try await reference.answered { () throws(StorageError) in
      _ = try reference.storage.client.objects()
      return reference.storage.client.backend
    }
    return await awaitValue { backend.cancelChange(number, $0) }
  }
}

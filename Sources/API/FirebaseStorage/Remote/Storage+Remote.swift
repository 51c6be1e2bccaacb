// A remote behind the buckets of an app, and the changes that wait for it.

import DocumentStore
public import Foundation
package import ObjectStore
public import ObjectSync
public import OfflineSync

extension Storage {
  /// The authority behind all buckets of the app. With one, what is here is a cache and a queue, and the app's folder
  /// remembers that: its buckets cannot be used without a remote any more. Set before the first operation; traps after
  /// it.
  public var remote: (any BlobRemote)? {
    get { client.remote.remote }
    set { setRemote { $0.remote = newValue } }
  }

  /// What becomes of objects from before the remote, the first time that it is attached. `.refuse` fails the first
  /// operation if there are any.
  public var remoteAttachment: RemoteAttachment {
    get { client.remote.attachment }
    set { setRemote { $0.attachment = newValue } }
  }

  /// With a remote: when an upload, an update or a deletion counts as done.
  public var acknowledgement: StorageAcknowledgement {
    get { client.remote.acknowledgement }
    set { setRemote { $0.acknowledgement = newValue } }
  }

  private func setRemote(_ change: (inout RemoteSettings) -> Void) {
    guard client.setRemote(change) else {
      ProgrammerError.trap("The remote of an app's buckets has to be set before their first use.")
    }
  }

  /// The changes of this bucket that the remote has not answered, in their order. Without a remote there are none.
  nonisolated(nonsending) public func pendingChanges() async throws -> [PendingChange] {
    let name = bucket
    return try await reference().answered { [self] () throws(StorageError) in
      _ = try client.objects()
      guard let sync = client.sync else { return [] }
      do throws(DocumentStoreError) {
        return try sync.changes().filter { $0.path.bucket == name }.map { PendingChange($0, self) }
      } catch {
        throw StorageErrors.translate(error, name, "")
      }
    }
  }

  /// Returns once the remote has answered all changes that wait now, of all buckets of the app. Throws once all others are
  /// answered if a file of some cannot be read: these go on waiting.
  nonisolated(nonsending) public func waitForPendingChanges() async throws {
    let name = bucket
    let sync = try await reference().answered { [self] () throws(StorageError) in
      _ = try client.objects()
      return client.sync
    }
    guard let sync else { return }
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      sync.wait { error in
        if let error {
          done.resume(throwing: StorageErrors.translate(error, name, ""))
        } else {
          done.resume()
        }
      }
    }
  }
}

/// When a change of an object counts as done, with a remote.
public enum StorageAcknowledgement: Hashable, Sendable {
  /// When the remote has accepted or refused it. Offline, that may be never.
  case server
  /// When it is here and in the queue, from where only the remote's answer takes it.
  case local
}

struct RemoteSettings: Sendable {
  var remote: (any BlobRemote)?
  var attachment = RemoteAttachment.refuse
  var acknowledgement = StorageAcknowledgement.server

  /// Nil without a remote. Throws `failedPrecondition` if that is not what the store was used for.
  func attach(to objects: ObjectStore) throws(DocumentStoreError) -> BlobSync? {
    if let remote { return try BlobSync.attach(remote, to: objects, attachment) }
    try BlobSync.checkAreOwn(objects)
    return nil
  }
}

/// A change of an object that is here already, and that the remote has not answered.
public struct PendingChange: Sendable, Identifiable {
  /// What waits to be sent.
  public enum Kind: Hashable, Sendable {
    /// A content of so many bytes.
    case upload(byteCount: Int64)
    /// Other metadata.
    case metadata
    /// The object's removal.
    case deletion
  }

  /// Later ones have greater numbers.
  public let id: Int64
  /// Which object.
  public let reference: StorageReference
  /// What is to happen to it.
  public let kind: Kind
  /// When it was made.
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

  /// Takes it out of the queue: its effect here vanishes, and whoever waits for it gets `cancelled`. False if it was
  /// answered meanwhile. If it was on its way to the remote, it may have happened there; then it comes back as what the
  /// remote has.
  @discardableResult
  nonisolated(nonsending) public func cancel() async throws -> Bool {
    let (reference, number) = (reference, id)
    let sync = try await reference.answered { () throws(StorageError) in
      _ = try reference.storage.client.objects()
      return reference.storage.client.sync
    }
    guard let sync else { return false }
    return await withCheckedContinuation { done in sync.cancel(number) { done.resume(returning: $0) } }
  }
}

// Uploads that were paused or cut off, which the original does not tell about.

import DocumentStore
public import Foundation
package import ObjectStore

/// An upload of which a part is staged: one that is under way, paused, or was cut off by the end of its process.
///
/// Whoever puts the same bytes, or the same unchanged file, to the same reference once more goes on from where it was.
/// What nobody goes on with is removed after seven days.
public struct PendingUpload: Sendable {
  /// Where it goes.
  public let reference: StorageReference
  /// What it was begun with.
  public let metadata: StorageMetadata
  /// Where the bytes come from; nil if that was memory.
  public let fileURL: URL?
  /// How many bytes it has in all.
  public let totalByteCount: Int64
  /// When it began.
  public let began: Date
  /// Some task of this process works at it.
  public let isActive: Bool

  let upload: StoredUpload

  init(_ upload: StoredUpload, _ storage: Storage, isActive: Bool) {
    let path = StoragePath(bucket: upload.path.bucket, object: upload.path.name.text)
    reference = StorageReference(storage, path)
    metadata = StorageMetadata(upload.attributes)
    fileURL = upload.source.file.map { URL(fileURLWithPath: $0) }
    totalByteCount = Int64(clamping: upload.source.byteCount)
    began = Timestamp(upload.began).dateValue()
    self.isActive = isActive
    self.upload = upload
  }

  /// Goes on with an upload of a file. Nil if the bytes came from memory: put them once more.
  public func resume() -> StorageUploadTask? {
    fileURL.map { reference.putFile(from: $0, metadata: metadata) }
  }

  /// Leaves nothing of it. False if a task works at it: then that is to be cancelled.
  @discardableResult
  nonisolated(nonsending) public func cancel() async throws -> Bool {
    let (reference, upload) = (reference, upload)
    return try await reference.answered { () throws(StorageError) in
      let objects = try reference.storage.client.objects()
      do throws(DocumentStoreError) { return try objects.cancel(upload) } catch {
        throw StorageErrors.translate(error, reference.bucket, reference.fullPath)
      }
    }
  }
}

extension Storage {
  /// The uploads to this bucket of which a part is staged, in no particular order.
  nonisolated(nonsending) public func pendingUploads() async throws -> [PendingUpload] {
    let name = bucket
    return try await reference().answered { [self] () throws(StorageError) in
      let objects = try client.objects()
      do throws(DocumentStoreError) {
        return try objects.uploads(inBucket: name).map {
          PendingUpload($0, self, isActive: objects.isActive($0.number))
        }
      } catch {
        throw StorageErrors.translate(error, name, "")
      }
    }
  }
}

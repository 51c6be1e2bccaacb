// Uploads that were paused or interrupted. This API does not exist in Firebase's SDK.

import DocumentStore
public import Foundation
import ObjectStore

/// An upload with staged parts. It is in progress or paused, or it was interrupted by the end of its process.
///
/// To resume the upload, upload the same bytes, or the same unchanged file, to the same reference. The upload
/// then continues from the staged parts. Staged parts that are not resumed are removed after seven days.
public struct PendingUpload: Sendable {
  /// The target of the upload.
  public let reference: StorageReference
  /// The metadata of the upload.
  public let metadata: StorageMetadata
  /// The local file with the bytes; nil if the bytes came from memory.
  public let fileURL: URL?
  /// The total number of bytes.
  public let totalByteCount: Int64
  /// When the upload started.
  public let began: Date
  /// Whether a task of this process is running the upload.
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

  /// Resumes the upload of a file. Returns nil if the bytes came from memory. In that case, upload the bytes
  /// again.
  public func resume() -> StorageUploadTask? {
    fileURL.map { reference.putFile(from: $0, metadata: metadata) }
  }

  /// Removes the staged parts. Returns false if a task is running the upload. In that case, cancel that task.
  @discardableResult
  nonisolated(nonsending) public func cancel() async throws -> Bool {
    let (reference, upload) = (reference, upload)
    return try await reference.answered { () throws(StorageError) in
      let objects = try reference.storage.client.objects()
      do throws(DocumentStoreError) { return try objects.cancel(upload) } catch {
        throw StorageErrors.translate(error, reference.bucket, object: reference.fullPath)
      }
    }
  }
}

extension Storage {
  /// The uploads to this bucket that have staged parts, in no particular order.
  nonisolated(nonsending) public func pendingUploads() async throws -> [PendingUpload] {
    let name = bucket
    return try await reference().answered { [self] () throws(StorageError) in
      let objects = try client.objects()
      do throws(DocumentStoreError) {
        return try objects.uploads(inBucket: name).map {
          PendingUpload($0, self, isActive: objects.isActive($0.number))
        }
      } catch {
        throw StorageErrors.translate(error, name, object: "")
      }
    }
  }
}

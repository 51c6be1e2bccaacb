// Uploads, downloads and deletes a file.

public import FirebaseStorage
import Foundation
import LayerKit

extension File {
  /// Uploads the bytes or the local file. `completion` runs on the callback queue of the storage once the
  /// download URL is known. If there is nothing to upload or the file belongs to no object, `completion`
  /// receives an error at once.
  @discardableResult
  func save(
    _ key: String, completion: @escaping (StorageMetadata?, (any Error)?) -> Void
  ) -> StorageUploadTask? {
    guard let ref else {
      completion(nil, invalid("it belongs to no object"))
      return nil
    }
    let metadata = metadata ?? StorageMetadata()
    if let mimeType, metadata.contentType == nil { metadata.contentType = mimeType.rawValue }
    let task = ref.upload(data, orFileAt: url, metadata: metadata) { [self] metadata, error in
      guard let metadata, error == nil else { return completion(nil, error) }
      ref.downloadURL { [self] url, error in
        if let url {
          self.metadata = metadata
          downloadURL = url
        }
        completion(url == nil ? nil : metadata, error)
      }
    }
    guard let task else {
      completion(nil, invalid("it has neither bytes nor a local file"))
      return nil
    }
    uploadTask = task
    return task
  }

  private func invalid(_ reason: String) -> DocumentError {
    DocumentError(
      kind: .invalidFile,
      description: "The file \(name) of the property \(key ?? "?") cannot be uploaded: \(reason).")
  }

  /// Deletes the bytes in the storage, and marks the file so that the next update removes the field.
  func delete(_ completion: (((any Error)?) -> Void)? = nil) {
    guard let ref else {
      completion?(invalid("it belongs to no object"))
      return
    }
    ref.delete { [self] error in
      if error == nil { isDeleted = true }
      completion?(error)
    }
  }

  /// Downloads the bytes. Cancels a pending download of this file first. Returns nil if the file belongs to
  /// no object; `completion` then receives the error at once.
  @discardableResult
  public func getData(
    _ size: Int64 = Int64(10e8), completion: @escaping (Data?, (any Error)?) -> Void
  ) -> StorageDownloadTask? {
    downloadTask?.cancel()
    guard let ref else {
      completion(nil, invalid("it belongs to no object"))
      return nil
    }
    let task = ref.getData(maxSize: size) { [self] data, error in
      if let data { self.data = data }
      completion(data, error)
    }
    downloadTask = task
    return task
  }

  // MARK: Async

  /// Downloads the bytes. Throws if there are more than `size` bytes.
  nonisolated(nonsending) public func getData(_ size: Int64 = Int64(10e8)) async throws -> Data {
    try await awaitCompletion { getData(size, completion: $0) }
  }
}

// Uploads, downloads and deletes a file.

public import FirebaseStorage
import Foundation
import LayerKit

extension File {
  /// Uploads the bytes, or the local file at `originalURL`, with the content type and the metadata.
  /// `completion` runs on the callback queue of the storage, after `storageMetadata` and `url` are set. If
  /// there are neither bytes nor a local file, `completion` runs at once with `FileError.invalidData`.
  @discardableResult
  public func save(_ completion: ((StorageMetadata?, (any Error)?) -> Void)?) -> StorageUploadTask? {
    let description = StorageMetadata()
    if !mimeType.rawValue.isEmpty { description.contentType = mimeType.rawValue }
    if !metadata.isEmpty { description.customMetadata = metadata }
    let task = storageReference.upload(data, orFileAt: originalURL, metadata: description) { [self] in
      finishUpload($0, $1, completion: completion)
    }
    guard let task else {
      completion?(nil, FileError.invalidData(self))
      return nil
    }
    StorageTaskStore.shared.uploads[path] = task
    return task
  }

  private func finishUpload(
    _ metadata: StorageMetadata?, _ error: (any Error)?,
    completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) {
    guard let metadata, error == nil else {
      StorageTaskStore.shared.uploads.removeEnded(path)
      completion?(metadata, error)
      return
    }
    storageReference.downloadURL { [self] url, error in
      take(nil, metadata)
      if let url { self.url = url }
      StorageTaskStore.shared.uploads.removeEnded(path)
      completion?(metadata, error)
    }
  }

  /// Deletes the file in the storage, and then clears this object's bytes, `storageMetadata` and `url`.
  /// Clears them also if the file did not exist, but not after any other error.
  public func delete(_ completion: (((any Error)?) -> Void)?) {
    storageReference.delete { [self] error in
      if error == nil || error.isNotFound { forget() }
      completion?(error)
    }
  }

  /// Passes the cached bytes to `completion` at once, without checking them against the storage. If no bytes
  /// are cached, downloads them. `reload` always downloads. Cancels a running download from the same path.
  @discardableResult
  public func getData(
    _ size: Int64 = Int64(10e8), completion: @escaping (Data?, (any Error)?) -> Void
  ) -> StorageDownloadTask? {
    StorageTaskStore.shared.downloads[path]?.cancel()
    if let data {
      completion(data, nil)
      return nil
    }
    return reload(size, completion: completion)
  }

  /// Downloads the file, even if its bytes are cached.
  @discardableResult
  public func reload(
    _ size: Int64 = Int64(10e8), completion: @escaping (Data?, (any Error)?) -> Void
  ) -> StorageDownloadTask? {
    let task = storageReference.getData(maxSize: size) { [self] data, error in
      StorageTaskStore.shared.downloads.removeEnded(path)
      if let data { take(data, nil) }
      completion(data, error)
    }
    StorageTaskStore.shared.downloads[path] = task
    return task
  }

  // MARK: Async

  /// Uploads the data. Returns once the data is on stable storage.
  @discardableResult
  nonisolated(nonsending) public func save() async throws -> StorageMetadata {
    try await awaitCompletion { save($0) }
  }

  /// Deletes the file in its bucket.
  nonisolated(nonsending) public func delete() async throws {
    try await awaitCompletion { done in delete { done((), $0) } }
  }

  /// Returns the cached data, or else downloads it. Throws if a download has more bytes than `size`.
  nonisolated(nonsending) public func getData(_ size: Int64 = Int64(10e8)) async throws -> Data {
    try await awaitCompletion { getData(size, completion: $0) }
  }

  /// Downloads the data. Throws if it has more bytes than `size`.
  @discardableResult
  nonisolated(nonsending) public func reload(_ size: Int64 = Int64(10e8)) async throws -> Data {
    try await awaitCompletion { reload(size, completion: $0) }
  }
}

extension Optional where Wrapped == any Error {
  fileprivate var isNotFound: Bool {
    guard let error = self as? StorageError, case .objectNotFound = error else { return false }
    return true
  }
}

// Uploads bytes and files.

public import Foundation

extension StorageReference {
  // MARK: Bytes

  /// Uploads bytes. The upload task has already started when this method returns.
  @discardableResult
  public func putData(_ uploadData: Data, metadata: StorageMetadata? = nil) -> StorageUploadTask {
    upload(metadata, defaultType: ContentTypes.unknown) { UploadData(uploadData) }
  }

  /// Uploads bytes. `completion` is called once, after all observers, with the object's metadata or an error.
  @discardableResult
  public func putData(
    _ uploadData: Data, metadata: StorageMetadata? = nil,
    completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) -> StorageUploadTask {
    upload(metadata, defaultType: ContentTypes.unknown, completion) { UploadData(uploadData) }
  }

  /// Uploads bytes. `completion` is called when the bytes are on stable storage or the upload has failed.
  @discardableResult
  public func putData(
    _ uploadData: Data, metadata: StorageMetadata? = nil,
    completion: @escaping (Result<StorageMetadata, any Error>) -> Void
  ) -> StorageUploadTask {
    putData(uploadData, metadata: metadata) { completion(Outcome.result($0, $1)) }
  }

  /// Uploads bytes. Cancelling the Swift task cancels the upload.
  nonisolated(nonsending) public func putDataAsync(
    _ uploadData: Data, metadata: StorageMetadata? = nil, onProgress: ((Progress?) -> Void)? = nil
  ) async throws -> StorageMetadata {
    try await finished(
      upload(metadata, defaultType: ContentTypes.unknown, onProgress: onProgress) {
        UploadData(uploadData)
      })
  }

  // MARK: Files

  /// Uploads a file, which must not change during the upload. The upload task has already started when this
  /// method returns.
  @discardableResult
  public func putFile(from fileURL: URL, metadata: StorageMetadata? = nil) -> StorageUploadTask {
    upload(metadata, defaultType: Self.type(of: fileURL)) { () throws(StorageError) in try UploadFile(fileURL)
    }
  }

  /// Uploads a file. `completion` is called once, after all observers, with the object's metadata or an
  /// error.
  @discardableResult
  public func putFile(
    from fileURL: URL, metadata: StorageMetadata? = nil,
    completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) -> StorageUploadTask {
    upload(metadata, defaultType: Self.type(of: fileURL), completion) { () throws(StorageError) in
      try UploadFile(fileURL)
    }
  }

  /// Uploads a file. `completion` is called when the file's bytes are on stable storage or the upload has
  /// failed.
  @discardableResult
  public func putFile(
    from fileURL: URL, metadata: StorageMetadata? = nil,
    completion: @escaping (Result<StorageMetadata, any Error>) -> Void
  ) -> StorageUploadTask {
    putFile(from: fileURL, metadata: metadata) { completion(Outcome.result($0, $1)) }
  }

  /// Uploads a file. Cancelling the Swift task cancels the upload.
  nonisolated(nonsending) public func putFileAsync(
    from url: URL, metadata: StorageMetadata? = nil, onProgress: ((Progress?) -> Void)? = nil
  ) async throws -> StorageMetadata {
    try await finished(
      upload(metadata, defaultType: Self.type(of: url), onProgress: onProgress) {
        () throws(StorageError) in try UploadFile(url)
      })
  }

  private static func type(of url: URL) -> String { ContentTypes.type(ofFile: url.lastPathComponent) }

  // MARK: Shared steps

  private func upload(
    _ metadata: StorageMetadata?, defaultType: String,
    _ completion: ((StorageMetadata?, (any Error)?) -> Void)? = nil,
    onProgress: ((Progress?) -> Void)? = nil,
    from open: @escaping () throws(StorageError) -> any UploadBytes
  ) -> StorageUploadTask {
    // The reference determines the location, so the location in the caller's metadata is overwritten.
    metadata?.path = path.object
    metadata?.bucket = path.bucket
    let described = metadata?.copied() ?? StorageMetadata()
    described.path = path.object
    described.bucket = path.bucket
    if described.contentType == nil { described.contentType = defaultType }
    let worker = UploadWorker(
      storage.client, path, attributes: described.attributes, open,
      timeout: Storage.microseconds(storage.maxUploadRetryTime))
    let transfer = Transfer(
      worker, storage.client, callbackQueue: storage.callbackQueue, metadata: described)
    let task = StorageUploadTask(self, transfer)
    if let onProgress { task.observe(.progress) { onProgress($0.progress) } }
    if let completion {
      transfer.observeEnd(of: task) { snapshot in
        completion(snapshot.error == nil ? snapshot.metadata : nil, snapshot.error)
      }
    }
    transfer.begin(task)
    return task
  }

  nonisolated(nonsending) private func finished(_ task: StorageUploadTask) async throws -> StorageMetadata {
    try await Outcome.of(task) { snapshot in snapshot.metadata }
  }
}

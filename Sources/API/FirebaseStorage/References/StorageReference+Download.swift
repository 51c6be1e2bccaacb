// Downloads objects into memory or a file.

public import Foundation

extension StorageReference {
  // MARK: To memory

  /// Downloads the object into memory. Fails if the object has more than `maxSize` bytes. `completion` is
  /// called once, after all observers.
  @discardableResult
  public func getData(
    maxSize: Int64, completion: @escaping (Data?, (any Error)?) -> Void
  ) -> StorageDownloadTask {
    let target = DownloadData(bytesMax: maxSize)
    return download(
      to: target,
      completion: { snapshot in
        completion(snapshot.error == nil ? target.data : nil, snapshot.error)
      })
  }

  /// Downloads the object into memory. Fails if the object has more than `maxSize` bytes.
  @discardableResult
  public func getData(
    maxSize: Int64, completion: @escaping (Result<Data, any Error>) -> Void
  ) -> StorageDownloadTask {
    getData(maxSize: maxSize) { completion(Outcome.result($0, $1)) }
  }

  /// Downloads the object into memory. Throws `downloadSizeExceeded` if the object has more than `maxSize`
  /// bytes. Cancelling the Swift task cancels the download.
  nonisolated(nonsending) public func data(maxSize: Int64) async throws -> Data {
    let target = DownloadData(bytesMax: maxSize)
    return try await Outcome.of(download(to: target)) { _ in target.data }
  }

  // MARK: To a file

  /// Downloads the object to a file. An existing file is replaced when the download is complete. The file's
  /// folder must exist. The download task has already started when this method returns.
  ///
  /// Only a regular file can be replaced. The task fails with `unknown` if the destination is a symbolic
  /// link, a directory, a FIFO, a socket or a device. It also fails for a destination inside a store that
  /// `Firestore` or `Storage` has opened in this process.
  @discardableResult
  public func write(toFile fileURL: URL) -> StorageDownloadTask { download(to: DownloadFile(fileURL)) }

  /// Downloads the object to a file. `completion` is called once, after all observers, with the file's URL or
  /// an error.
  @discardableResult
  public func write(
    toFile fileURL: URL, completion: ((URL?, (any Error)?) -> Void)?
  ) -> StorageDownloadTask {
    download(
      to: DownloadFile(fileURL),
      completion: { snapshot in
        completion?(snapshot.error == nil ? fileURL : nil, snapshot.error)
      })
  }

  /// Downloads the object to a file. The file gets its final name when the download is complete.
  @discardableResult
  public func write(
    toFile fileURL: URL, completion: @escaping (Result<URL, any Error>) -> Void
  ) -> StorageDownloadTask {
    write(toFile: fileURL) { completion(Outcome.result($0, $1)) }
  }

  /// Downloads the object to a file. Cancelling the Swift task cancels the download.
  nonisolated(nonsending) public func writeAsync(
    toFile fileURL: URL, onProgress: ((Progress?) -> Void)? = nil
  ) async throws -> URL {
    try await Outcome.of(download(to: DownloadFile(fileURL), onProgress: onProgress)) { _ in fileURL }
  }

  // MARK: Shared steps

  private func download(
    to target: any DownloadTarget, onProgress: ((Progress?) -> Void)? = nil,
    completion: ((StorageTaskSnapshot) -> Void)? = nil
  ) -> StorageDownloadTask {
    let worker = DownloadWorker(
      storage.client, path, target: target, timeout: Storage.microseconds(storage.maxDownloadRetryTime))
    let transfer = Transfer(worker, storage.client, callbackQueue: storage.callbackQueue, metadata: nil)
    let task = StorageDownloadTask(self, transfer)
    if let onProgress { task.observe(.progress) { onProgress($0.progress) } }
    if let completion { transfer.observeEnd(of: task, completion) }
    transfer.begin(task)
    return task
  }
}

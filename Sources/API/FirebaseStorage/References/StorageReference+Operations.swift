// Metadata, download URLs and deletion.
//
// With a remote, reads return the remote's metadata. If a change is pending or the remote cannot be reached,
// reads return the local metadata. A change takes effect locally at once and is then queued for the remote.

import ByteStore
import DocumentStore
public import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

extension StorageReference {
  // MARK: Metadata

  /// Reads the metadata of the object.
  public func getMetadata(completion: @escaping (StorageMetadata?, (any Error)?) -> Void) {
    answer(completion, later: { [self] finish throws(StorageError) in try readMetadata(finish) })
  }

  /// Reads the metadata of the object.
  public func getMetadata(completion: @escaping (Result<StorageMetadata, any Error>) -> Void) {
    getMetadata { completion(Outcome.result($0, $1)) }
  }

  /// Reads the metadata of the object.
  nonisolated(nonsending) public func getMetadata() async throws -> StorageMetadata {
    try await answered(later: { [self] finish throws(StorageError) in try readMetadata(finish) })
  }

  /// Sets the values that are present in `metadata`. Clears the values that `metadata` contained when it was
  /// read and that are now nil. The content is unchanged.
  public func updateMetadata(
    _ metadata: StorageMetadata, completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) {
    let update = metadata.update
    answer(completion, later: { [self] finish throws(StorageError) in try performUpdate(update, finish) })
  }

  /// Changes the writable metadata. The content is unchanged.
  public func updateMetadata(
    _ metadata: StorageMetadata, completion: @escaping (Result<StorageMetadata, any Error>) -> Void
  ) {
    updateMetadata(metadata) { completion(Outcome.result($0, $1)) }
  }

  /// Changes the writable metadata. The content is unchanged.
  @discardableResult
  nonisolated(nonsending) public func updateMetadata(
    _ metadata: StorageMetadata
  ) async throws -> StorageMetadata {
    let update = metadata.update
    return try await answered(later: { [self] finish throws(StorageError) in try performUpdate(update, finish)
    })
  }

  private func readMetadata(_ finish: @escaping Finish<StorageMetadata>) throws(StorageError) {
    let notFound = notFound
    try known { found in
      finish(
        found.flatMap { found in
          switch found {
          case .here(let object): .success(StorageMetadata(object))
          case .remoteOnly(let object): .success(StorageMetadata(object))
          case .absent: .failure(notFound)
          }
        })
    }
  }

  private func performUpdate(
    _ changes: AttributeChanges, _ finish: @escaping Finish<StorageMetadata>
  ) throws(StorageError) {
    let client = storage.client
    let objects = try client.objects()
    guard let place else { throw notFound }
    let update = MetadataUpdate(path: place, changes: changes, timeout: timeout)
    client.backend.update(
      update, in: objects, performing: { client.perform(askingRemote: true, $0) }, translating(finish))
  }

  // MARK: Download URLs

  /// Returns a URL that contains the object's first token and thereby grants read access to the object.
  public func downloadURL(completion: @escaping (URL?, (any Error)?) -> Void) {
    answer(
      completion, later: { [self] finish throws(StorageError) in try readDownloadURL(finish) })
  }

  /// Returns a download URL of the object. `reference(for:)` accepts this URL.
  public func downloadURL(completion: @escaping (Result<URL, any Error>) -> Void) {
    downloadURL { completion(Outcome.result($0, $1)) }
  }

  /// Returns a download URL of the object. `reference(for:)` accepts this URL.
  nonisolated(nonsending) public func downloadURL() async throws -> URL {
    try await answered(later: { [self] finish throws(StorageError) in try readDownloadURL(finish) }
    )
  }

  private func readDownloadURL(_ finish: @escaping Finish<URL>) throws(StorageError) {
    try known { [self] found in finish(found.flatMap { tokens(of: $0) }.flatMap { downloadURL($0) }) }
  }

  func tokens(of found: BlobSync.Found) -> Result<[String], StorageError> {
    switch found {
    case .here(let object): .success(object.tokens)
    case .remoteOnly(let object): .success(object.downloadTokens)
    case .absent: .failure(notFound)
    }
  }

  func downloadURL(_ tokens: [String]) -> Result<URL, StorageError> {
    let host = storage.host
    guard let token = tokens.first,
      let url = URL(
        string: "http://\(host.name):\(host.port)/v0/b/\(StoragePath.encoded(bucket))/o/"
          + "\(StoragePath.encoded(fullPath))?alt=media&token=\(StoragePath.encoded(token))")
    else { return .failure(.unknown(message: "Failed to retrieve a download URL.", serverError: [:])) }
    return .success(url)
  }

  // MARK: Deletion

  /// Deletes the object. Fails with `objectNotFound` if the object does not exist.
  public func delete(completion: (((any Error)?) -> Void)?) {
    answer(
      { (_: Bool?, error) in completion?(error) },
      later: { [self] finish throws(StorageError) in try performDelete(finish) })
  }

  /// Deletes the object. Returns when the deletion is on stable storage.
  nonisolated(nonsending) public func delete() async throws {
    let _: Bool = try await answered(later: { [self] finish throws(StorageError) in try performDelete(finish)
    })
  }

  private func performDelete(_ finish: @escaping Finish<Bool>) throws(StorageError) {
    let objects = try storage.client.objects()
    guard let place else { throw notFound }
    let done = translating(finish)
    storage.client.backend.delete(place, in: objects, timeout: timeout) { wasThere in
      done(wasThere.map { $0 ? true : nil })
    }
  }

  // MARK: Objects

  /// Looks up the object, at the remote if there is one, and calls `finish` once. Does not block while the
  /// remote answers. Without a remote, calls `finish` before returning.
  func known(_ finish: @escaping Finish<BlobSync.Found>) throws(StorageError) {
    guard let place else { return finish(.success(.absent)) }
    let objects = try storage.client.objects()
    let (bucket, path) = (bucket, fullPath)
    storage.client.backend.find(place, in: objects, timeout: timeout) { found in
      finish(found.mapError { StorageErrors.translate($0, bucket, object: path) })
    }
  }

  /// Returns a closure that translates a result for `finish`. Nil means that there is no such object.
  private func translating<Value>(_ finish: @escaping Finish<Value>) -> BackendAnswer<Value?> {
    let (bucket, path, notFound) = (bucket, fullPath, notFound)
    return { result in
      switch result {
      case .success(let value?): finish(.success(value))
      case .success(nil): finish(.failure(notFound))
      case .failure(let error): finish(.failure(StorageErrors.translate(error, bucket, object: path)))
      }
    }
  }

  /// How long operations wait for a remote, in microseconds.
  private var timeout: Int64 { Storage.microseconds(storage.maxOperationRetryTime) }

  /// The location of the object. Nil if the path is not a valid object name.
  private var place: ObjectPath? {
    (try? ObjectName(fullPath)).map { ObjectPath(bucket: bucket, name: $0) }
  }

  private var notFound: StorageError { StorageErrors.objectNotFound(bucket, fullPath) }

  /// Runs `body` with the store and the location of the object. Returns nil if the path is not a valid object
  /// name.
  func withObjects<Value>(
    _ body: (ObjectStore, ObjectPath) throws(DocumentStoreError) -> Value?
  ) throws(StorageError) -> Value? {
    guard let place else { return nil }
    let objects = try storage.client.objects()
    do throws(DocumentStoreError) {
      return try body(objects, place)
    } catch {
      throw StorageErrors.translate(error, bucket, object: fullPath)
    }
  }
}

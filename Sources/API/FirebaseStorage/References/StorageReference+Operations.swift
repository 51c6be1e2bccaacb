// Metadata, download URLs and deletion.
//
// With a remote, what is known is what it knows, unless it cannot be reached or a change waits; and a change happens
// here at once and waits for it.

import ByteStore
import DocumentStore
public import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

extension StorageReference {
  // MARK: Metadata

  /// What is known about the object.
  public func getMetadata(completion: @escaping (StorageMetadata?, (any Error)?) -> Void) {
    answer(completion, later: { [self] finish throws(StorageError) in try metadataNow(finish) })
  }

  /// Reads what is known about the object.
  public func getMetadata(completion: @escaping (Result<StorageMetadata, any Error>) -> Void) {
    getMetadata { completion(Outcome.result($0, $1)) }
  }

  /// Reads what is known about the object.
  nonisolated(nonsending) public func getMetadata() async throws -> StorageMetadata {
    try await answered(later: { [self] finish throws(StorageError) in try metadataNow(finish) })
  }

  /// Sets what the metadata names, and clears what it had and has no more. The content stays.
  public func updateMetadata(
    _ metadata: StorageMetadata, completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) {
    let update = metadata.update
    answer(completion, later: { [self] finish throws(StorageError) in try updateNow(update, finish) })
  }

  /// Changes the metadata that may be changed; the content stays.
  public func updateMetadata(
    _ metadata: StorageMetadata, completion: @escaping (Result<StorageMetadata, any Error>) -> Void
  ) {
    updateMetadata(metadata) { completion(Outcome.result($0, $1)) }
  }

  /// Changes the metadata that may be changed; the content stays.
  @discardableResult
  nonisolated(nonsending) public func updateMetadata(
    _ metadata: StorageMetadata
  ) async throws -> StorageMetadata {
    let update = metadata.update
    return try await answered(later: { [self] finish throws(StorageError) in try updateNow(update, finish) })
  }

  private func metadataNow(_ finish: @escaping Finish<StorageMetadata>) throws(StorageError) {
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

  private func updateNow(
    _ update: AttributeChanges, _ finish: @escaping Finish<StorageMetadata>
  ) throws(StorageError) {
    let (client, bucket, path) = (storage.client, bucket, fullPath)
    _ = try client.objects()
    guard let sync = client.sync, let place else { return try updateHere(update, finish) }
    let notFound = notFound
    try known { [self] found in
      switch found {
      case .success(.here):
        client.perform(askingRemote: true) { [self] in
          do throws(StorageError) { try updateHere(update, finish) } catch { finish(.failure(error)) }
        }
      case .success(.remoteOnly):
        // Nothing of it is here that could wait.
        let patience = Storage.microseconds(storage.maxOperationRetryTime)
        sync.updateAtRemote(place, update, patience: patience) { result in
          finish(
            result.mapError { StorageErrors.translate($0, bucket, path) }.flatMap { object in
              object.map { .success(StorageMetadata($0)) } ?? .failure(notFound)
            })
        }
      case .success(.absent): finish(.failure(notFound))
      case .failure(let error): finish(.failure(error))
      }
    }
  }

  /// With a remote, the change waits for that.
  private func updateHere(
    _ update: AttributeChanges, _ finish: @escaping Finish<StorageMetadata>
  ) throws(StorageError) {
    let (client, bucket, path) = (storage.client, bucket, fullPath)
    let isWaiting = client.waitsForRemote
    let patience = Storage.microseconds(storage.maxOperationRetryTime)
    let updated = try withObjects { objects, place throws(DocumentStoreError) -> StoredObject? in
      guard let sync = client.sync else { return try objects.update(place) { update.apply(to: &$0) } }
      let watcher = BlobSync.Watcher(patience: isWaiting ? patience : nil) { result in
        guard isWaiting else { return }
        switch result {
        case .success(let object?): finish(.success(StorageMetadata(object)))
        case .success(nil): finish(.failure(StorageErrors.objectNotFound(bucket, path)))
        case .failure(let error): finish(.failure(StorageErrors.translate(error, bucket, path)))
        }
      }
      return try sync.update(place, update, watcher)
    }
    guard let updated else { throw notFound }
    if !isWaiting { finish(.success(StorageMetadata(updated))) }
  }

  // MARK: Download URLs

  /// A URL that names the object and has the right to read it: the first of its tokens.
  public func downloadURL(completion: @escaping (URL?, (any Error)?) -> Void) {
    answer(
      completion, later: { [self] finish throws(StorageError) in try downloadURLNow(finish) })
  }

  /// A URL that names the object, for `reference(for:)`.
  public func downloadURL(completion: @escaping (Result<URL, any Error>) -> Void) {
    downloadURL { completion(Outcome.result($0, $1)) }
  }

  /// A URL that names the object, for `reference(for:)`.
  nonisolated(nonsending) public func downloadURL() async throws -> URL {
    try await answered(later: { [self] finish throws(StorageError) in try downloadURLNow(finish) }
    )
  }

  private func downloadURLNow(_ finish: @escaping Finish<URL>) throws(StorageError) {
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

  /// Deletes the object. Fails with `objectNotFound` if there is none.
  public func delete(completion: (((any Error)?) -> Void)?) {
    answer(
      { (_: Bool?, error) in completion?(error) },
      later: { [self] finish throws(StorageError) in try deleteNow(finish) })
  }

  /// Deletes the object; returns when that is on stable storage.
  nonisolated(nonsending) public func delete() async throws {
    let _: Bool = try await answered(later: { [self] finish throws(StorageError) in try deleteNow(finish) })
  }

  private func deleteNow(_ finish: @escaping Finish<Bool>) throws(StorageError) {
    let (client, bucket, path) = (storage.client, bucket, fullPath)
    _ = try client.objects()
    let isWaiting = client.waitsForRemote
    let patience = Storage.microseconds(storage.maxOperationRetryTime)
    let wasThere = try withObjects { objects, place throws(DocumentStoreError) -> Bool? in
      guard let sync = client.sync else { return try objects.delete(place) }
      let watcher = BlobSync.Watcher(patience: isWaiting ? patience : nil) { result in
        if isWaiting {
          finish(result.map { _ in true }.mapError { StorageErrors.translate($0, bucket, path) })
        }
      }
      return try sync.delete(place, watcher)
    }
    guard wasThere == true else { throw notFound }
    if !isWaiting { finish(.success(true)) }
  }

  // MARK: Objects

  /// Nobody waits while a remote is asked: `finish` is called once, later, or at once without one.
  func known(_ finish: @escaping Finish<BlobSync.Found>) throws(StorageError) {
    guard let place else { return finish(.success(.absent)) }
    let (bucket, path) = (bucket, fullPath)
    let objects = try storage.client.objects()
    guard let sync = storage.client.sync else {
      do throws(DocumentStoreError) {
        return finish(.success(try objects.object(at: place).map { .here($0) } ?? .absent))
      } catch {
        throw StorageErrors.translate(error, bucket, path)
      }
    }
    let patience = Storage.microseconds(storage.maxOperationRetryTime)
    sync.find(place, BlobSync.FetchRequest(fetchesContent: false, patience: patience)) { result in
      finish(result.mapError { StorageErrors.translate($0, bucket, path) })
    }
  }

  /// Nil for a path that no object can have.
  private var place: ObjectPath? {
    (try? ObjectName(fullPath)).map { ObjectPath(bucket: bucket, name: $0) }
  }

  private var notFound: StorageError { StorageErrors.objectNotFound(bucket, fullPath) }

  /// Nil for a path that no object can have.
  func withObjects<Value>(
    _ body: (ObjectStore, ObjectPath) throws(DocumentStoreError) -> Value?
  ) throws(StorageError) -> Value? {
    guard let place else { return nil }
    let objects = try storage.client.objects()
    do throws(DocumentStoreError) {
      return try body(objects, place)
    } catch {
      throw StorageErrors.translate(error, bucket, fullPath)
    }
  }
}

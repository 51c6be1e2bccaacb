// Metadata, download URLs and deletion.
//
// With a remote, what is known is what it knows, unless it cannot be reached or a change waits; and a change happens
// here at once and waits for it.

import ByteStore
import DocumentStore
public import Foundation
import OfflineSync

extension StorageReference {
  // MARK: Metadata

  /// What is known about the object.
  public func getMetadata(completion: @escaping (StorageMetadata?, (any Error)?) -> Void) {
    answer(completion, later: { [self] finish throws(StorageError) in finish(.success(try metadataNow())) })
  }

  /// Reads what is known about the object.
  public func getMetadata(completion: @escaping (Result<StorageMetadata, any Error>) -> Void) {
    getMetadata { completion(Outcome.result($0, $1)) }
  }

  /// Reads what is known about the object.
  nonisolated(nonsending) public func getMetadata() async throws -> StorageMetadata {
    try await answered(later: { [self] finish throws(StorageError) in finish(.success(try metadataNow())) })
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

  private func metadataNow() throws(StorageError) -> StorageMetadata {
    switch try known(bringsContent: false) {
    case .here(let object): return StorageMetadata(object)
    case .elsewhere(let object): return StorageMetadata(object)
    case .absent: throw notFound
    }
  }

  private func updateNow(
    _ update: MetadataUpdate, _ finish: @escaping Finish<StorageMetadata>
  ) throws(StorageError) {
    guard case .here = try known(bringsContent: true) else { throw notFound }
    let (client, bucket, path) = (storage.client, bucket, fullPath)
    let isWaiting = client.waitsForRemote
    let updated = try withObjects { objects, place throws(DocumentStoreError) -> StoredObject? in
      guard let sync = client.sync else { return try objects.update(place) { update.apply(to: &$0) } }
      let watcher = BlobSync.Watcher { result in
        guard isWaiting else { return }
        switch result {
        case .success(let object?): finish(.success(StorageMetadata(object)))
        case .success(nil): finish(.failure(StorageErrors.objectNotFound(bucket, path)))
        case .failure(let error): finish(.failure(StorageErrors.translate(error, bucket, path)))
        }
      }
      return try sync.update(place, watcher) { update.apply(to: &$0) }
    }
    guard let updated else { throw notFound }
    if !isWaiting { finish(.success(StorageMetadata(updated))) }
  }

  // MARK: Download URLs

  /// A URL that names the object and has the right to read it: the first of its tokens.
  public func downloadURL(completion: @escaping (URL?, (any Error)?) -> Void) {
    answer(
      completion, later: { [self] finish throws(StorageError) in finish(.success(try downloadURLNow())) })
  }

  /// A URL that names the object, for `reference(for:)`.
  public func downloadURL(completion: @escaping (Result<URL, any Error>) -> Void) {
    downloadURL { completion(Outcome.result($0, $1)) }
  }

  /// A URL that names the object, for `reference(for:)`.
  nonisolated(nonsending) public func downloadURL() async throws -> URL {
    try await answered(later: { [self] finish throws(StorageError) in finish(.success(try downloadURLNow())) }
    )
  }

  private func downloadURLNow() throws(StorageError) -> URL {
    let host = storage.host
    guard let token = try tokens().first,
      let url = URL(
        string: "http://\(host.name):\(host.port)/v0/b/\(StoragePath.encoded(bucket))/o/"
          + "\(StoragePath.encoded(fullPath))?alt=media&token=\(StoragePath.encoded(token))")
    else { throw .unknown(message: "Failed to retrieve a download URL.", serverError: [:]) }
    return url
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
    let wasThere = try withObjects { objects, place throws(DocumentStoreError) -> Bool? in
      guard let sync = client.sync else { return try objects.delete(place) }
      let watcher = BlobSync.Watcher { result in
        if isWaiting {
          finish(result.map { _ in true }.mapError { StorageErrors.translate($0, bucket, path) })
        }
      }
      try sync.delete(place, watcher)
      return true
    }
    guard wasThere == true else { throw notFound }
    if !isWaiting { finish(.success(true)) }
  }

  // MARK: Objects

  private func tokens() throws(StorageError) -> [String] {
    switch try known(bringsContent: false) {
    case .here(let object): return object.tokens
    case .elsewhere(let object): return object.downloadTokens
    case .absent: throw notFound
    }
  }

  /// Blocks while a remote is asked.
  private func known(bringsContent: Bool) throws(StorageError) -> BlobSync.Found {
    let found = try withObjects {
      objects, place throws(DocumentStoreError) -> Result<BlobSync.Found, BlobSyncError>? in
      guard let sync = storage.client.sync else {
        return .success(try objects.object(at: place).map { .here($0) } ?? .absent)
      }
      let answer = Locked<Result<BlobSync.Found, BlobSyncError>?>(nil)
      sync.find(place, bringsContent: bringsContent) { result in
        answer.withLock { $0 = result }
        answer.wakeAll()
      }
      return answer.withLock(when: { $0 != nil }) { $0 ?? .success(.absent) }
    }
    do throws(BlobSyncError) { return try found?.get() ?? .absent } catch {
      throw StorageErrors.translate(error, bucket, fullPath)
    }
  }

  private var notFound: StorageError { StorageErrors.objectNotFound(bucket, fullPath) }

  /// Nil for a path that no object can have.
  private func withObjects<Value>(
    _ body: (ObjectStore, ObjectPath) throws(DocumentStoreError) -> Value?
  ) throws(StorageError) -> Value? {
    guard let name = try? ObjectName(fullPath) else { return nil }
    let objects = try storage.client.objects()
    do throws(DocumentStoreError) {
      return try body(objects, ObjectPath(bucket: bucket, name: name))
    } catch {
      throw StorageErrors.translate(error, bucket, fullPath)
    }
  }
}

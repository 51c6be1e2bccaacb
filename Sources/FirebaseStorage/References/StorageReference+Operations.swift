// Metadata, download URLs and deletion.

import DocumentStore
public import Foundation

extension StorageReference {
  // MARK: Metadata

  /// What is known about the object.
  public func getMetadata(completion: @escaping (StorageMetadata?, (any Error)?) -> Void) {
    answer(completion) { [self] () throws(StorageError) in try metadataNow() }
  }

  public func getMetadata(completion: @escaping (Result<StorageMetadata, any Error>) -> Void) {
    getMetadata { completion(Outcome.result($0, $1)) }
  }

  nonisolated(nonsending) public func getMetadata() async throws -> StorageMetadata {
    try await answered { [self] () throws(StorageError) in try metadataNow() }
  }

  /// Sets what the metadata names, and clears what it had and has no more. The content stays.
  public func updateMetadata(
    _ metadata: StorageMetadata, completion: ((StorageMetadata?, (any Error)?) -> Void)?
  ) {
    let update = metadata.update
    answer(completion) { [self] () throws(StorageError) in try updateNow(update) }
  }

  public func updateMetadata(
    _ metadata: StorageMetadata, completion: @escaping (Result<StorageMetadata, any Error>) -> Void
  ) {
    updateMetadata(metadata) { completion(Outcome.result($0, $1)) }
  }

  @discardableResult
  nonisolated(nonsending) public func updateMetadata(
    _ metadata: StorageMetadata
  ) async throws -> StorageMetadata {
    let update = metadata.update
    return try await answered { [self] () throws(StorageError) in try updateNow(update) }
  }

  private func metadataNow() throws(StorageError) -> StorageMetadata {
    StorageMetadata(try objectNow())
  }

  private func updateNow(_ update: MetadataUpdate) throws(StorageError) -> StorageMetadata {
    let updated = try withObjects { objects, place throws(DocumentStoreError) in
      try objects.update(place) { update.apply(to: &$0) }
    }
    guard let updated else { throw notFound }
    return StorageMetadata(updated)
  }

  // MARK: Download URLs

  /// A URL that names the object and has the right to read it: the first of its tokens.
  public func downloadURL(completion: @escaping (URL?, (any Error)?) -> Void) {
    answer(completion) { [self] () throws(StorageError) in try downloadURLNow() }
  }

  public func downloadURL(completion: @escaping (Result<URL, any Error>) -> Void) {
    downloadURL { completion(Outcome.result($0, $1)) }
  }

  nonisolated(nonsending) public func downloadURL() async throws -> URL {
    try await answered { [self] () throws(StorageError) in try downloadURLNow() }
  }

  private func downloadURLNow() throws(StorageError) -> URL {
    let object = try objectNow()
    let host = storage.host
    guard let token = object.tokens.first,
      let url = URL(
        string: "http://\(host.name):\(host.port)/v0/b/\(StoragePath.encoded(bucket))/o/"
          + "\(StoragePath.encoded(fullPath))?alt=media&token=\(StoragePath.encoded(token))")
    else { throw .unknown(message: "Failed to retrieve a download URL.", serverError: [:]) }
    return url
  }

  // MARK: Deletion

  /// Deletes the object. Fails with `objectNotFound` if there is none.
  public func delete(completion: (((any Error)?) -> Void)?) {
    answer({ (_: Bool?, error) in completion?(error) }) { [self] () throws(StorageError) in try deleteNow() }
  }

  nonisolated(nonsending) public func delete() async throws {
    _ = try await answered { [self] () throws(StorageError) in try deleteNow() }
  }

  private func deleteNow() throws(StorageError) -> Bool {
    let wasThere = try withObjects { objects, place throws(DocumentStoreError) in try objects.delete(place) }
    guard wasThere == true else { throw notFound }
    return true
  }

  // MARK: Objects

  private func objectNow() throws(StorageError) -> StoredObject {
    let object = try withObjects { objects, place throws(DocumentStoreError) in try objects.object(at: place)
    }
    guard let object else { throw notFound }
    return object
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

// Lists the contents of folders.
//
// With a remote, a list shows the remote's objects, changed by the pending local changes. If the remote
// cannot be reached, the list shows the local objects.

import Foundation
import ObjectStore
import ObjectSync

extension StorageReference {
  private static let resultsMax: Int64 = 1000

  // MARK: Pages

  /// Returns the first page of the objects and folders directly in this folder. A page has at most
  /// `maxResults` entries; `maxResults` must be between 1 and 1000.
  public func list(
    maxResults: Int64, completion: @escaping (StorageListResult?, (any Error)?) -> Void
  ) {
    answer(
      completion, later: { [self] finish throws(StorageError) in finish(.success(try page(maxResults, nil))) }
    )
  }

  /// Returns the first page of the folder's contents, with at most `maxResults` objects and folders.
  public func list(
    maxResults: Int64, completion: @escaping (Result<StorageListResult, any Error>) -> Void
  ) {
    list(maxResults: maxResults) { completion(Outcome.result($0, $1)) }
  }

  /// Returns the first page of the folder's contents, with at most `maxResults` objects and folders.
  nonisolated(nonsending) public func list(maxResults: Int64) async throws -> StorageListResult {
    try await answered(later: { [self] finish throws(StorageError) in
      finish(.success(try page(maxResults, nil)))
    })
  }

  /// Returns the page that follows the page from which `pageToken` was taken.
  public func list(
    maxResults: Int64, pageToken: String, completion: @escaping (StorageListResult?, (any Error)?) -> Void
  ) {
    answer(
      completion,
      later: { [self] finish throws(StorageError) in finish(.success(try page(maxResults, pageToken))) })
  }

  /// Returns the page that follows the page from which `pageToken` was taken.
  public func list(
    maxResults: Int64, pageToken: String, completion: @escaping (Result<StorageListResult, any Error>) -> Void
  ) {
    list(maxResults: maxResults, pageToken: pageToken) { completion(Outcome.result($0, $1)) }
  }

  /// Returns the page that follows the page from which `pageToken` was taken.
  nonisolated(nonsending) public func list(
    maxResults: Int64, pageToken: String
  ) async throws -> StorageListResult {
    try await answered(
      later: { [self] finish throws(StorageError) in finish(.success(try page(maxResults, pageToken))) })
  }

  // MARK: All

  /// Returns all objects and folders directly in this folder.
  public func listAll(completion: @escaping (StorageListResult?, (any Error)?) -> Void) {
    answer(completion, later: { [self] finish throws(StorageError) in finish(.success(try all())) })
  }

  /// Returns all objects and folders directly in this folder.
  public func listAll(completion: @escaping (Result<StorageListResult, any Error>) -> Void) {
    listAll { completion(Outcome.result($0, $1)) }
  }

  /// Returns all objects and folders directly in this folder.
  nonisolated(nonsending) public func listAll() async throws -> StorageListResult {
    try await answered(later: { [self] finish throws(StorageError) in finish(.success(try all())) })
  }

  // MARK: Steps

  private func page(_ maxResults: Int64, _ token: String?) throws(StorageError) -> StorageListResult {
    guard (1...Self.resultsMax).contains(maxResults) else {
      throw .invalidArgument(message: "Argument 'maxResults' must be between 1 and 1000 inclusive.")
    }
    var start: String?
    if let token {
      start = storage.client.backend.pageTokens.start(of: token, in: path)
      if start == nil {
        throw StorageErrors.badRequest("The page token is not valid.", bucket, object: fullPath)
      }
    }
    return result(try objectPage(from: start, limit: Int(maxResults)))
  }

  private func all() throws(StorageError) -> StorageListResult {
    var all = ObjectPage()
    repeat {
      let page = try objectPage(from: all.next, limit: Int(Self.resultsMax))
      all.items += page.items
      all.folders += page.folders
      all.next = page.next
    } while all.next != nil
    return result(all)
  }

  private func objectPage(from start: String?, limit: Int) throws(StorageError) -> ObjectPage {
    let objects = try storage.client.objects()
    do throws(BlobSyncError) {
      return try storage.client.backend.list(path, from: start, limit: limit, in: objects)
    } catch {
      throw StorageErrors.translate(error, bucket, object: fullPath)
    }
  }

  private func result(_ page: ObjectPage) -> StorageListResult {
    func reference(_ name: String) -> StorageReference {
      StorageReference(storage, StoragePath(bucket: bucket, object: name))
    }
    return StorageListResult(
      prefixes: page.folders.map(reference), items: page.items.map(reference),
      pageToken: page.next.map { storage.client.backend.pageTokens.token(start: $0) })
  }
}

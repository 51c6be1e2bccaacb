// Lists the contents of folders.
//
// With a remote, a list shows the remote's objects, changed by the pending local changes. If the remote
// cannot be reached, the list shows the local objects.

import ByteStore
import DocumentStore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

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
      start = PageToken.start(of: token, in: path, ofRemote: storage.client.remote.remote != nil)
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
    do {
      guard let sync = storage.client.sync else {
        return try objects.list(bucket: bucket, folder: fullPath, from: start, limit: limit)
      }
      let page: Result<ObjectPage, BlobSyncError> = waitForValue { done in
        sync.list(bucket: bucket, folder: fullPath, after: start, limit: limit, done)
      }
      return try page.get()
    } catch let error as BlobSyncError {
      throw StorageErrors.translate(error, bucket, object: fullPath)
    } catch let error as DocumentStoreError {
      throw StorageErrors.translate(error, bucket, object: fullPath)
    } catch {
      throw .unknown(message: "\(error)", serverError: [:])
    }
  }

  private func result(_ page: ObjectPage) -> StorageListResult {
    func reference(_ name: String) -> StorageReference {
      StorageReference(storage, StoragePath(bucket: bucket, object: name))
    }
    return StorageListResult(
      prefixes: page.folders.map(reference), items: page.items.map(reference),
      pageToken: page.next.map { PageToken.token(start: $0, ofRemote: storage.client.sync != nil) })
  }
}

/// A token that encodes the start of a page as opaque Base64 text. The encoded name is the first entry of the
/// page. With a remote, it is the last entry before the page.
private enum PageToken {
  private static let remoteMark = "r"

  static func token(start: String, ofRemote: Bool) -> String {
    Data(((ofRemote ? remoteMark : "") + start).utf8).base64EncodedString()
  }

  /// Decodes a token. Returns nil for a token that this library did not create.
  static func start(of token: String, in path: StoragePath, ofRemote: Bool) -> String? {
    guard let data = Data(base64Encoded: token), let start = String(validating: data, as: UTF8.self),
      start.utf8.count <= 1100
    else { return nil }
    guard ofRemote else { return start.hasPrefix("=") && !start.contains("/") ? start : nil }
    guard start.utf8.starts(with: remoteMark.utf8) else { return nil }
    let entry = String(decoding: start.utf8.dropFirst(remoteMark.utf8.count), as: UTF8.self)
    return path.object.isEmpty || entry.utf8.starts(with: (path.object + "/").utf8) ? entry : nil
  }
}

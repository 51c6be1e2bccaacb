// Listing what is in a folder.

import DocumentStore
import Foundation

extension StorageReference {
  private static let resultsMax: Int64 = 1000

  // MARK: Pages

  /// The first page of what is directly in this folder: at most so many folders and objects, 1 to 1000.
  public func list(
    maxResults: Int64, completion: @escaping (StorageListResult?, (any Error)?) -> Void
  ) {
    answer(completion) { [self] () throws(StorageError) in try page(maxResults, nil) }
  }

  /// Lists so many objects and folders at most.
  public func list(
    maxResults: Int64, completion: @escaping (Result<StorageListResult, any Error>) -> Void
  ) {
    list(maxResults: maxResults) { completion(Outcome.result($0, $1)) }
  }

  /// Lists so many objects and folders at most.
  nonisolated(nonsending) public func list(maxResults: Int64) async throws -> StorageListResult {
    try await answered { [self] () throws(StorageError) in try page(maxResults, nil) }
  }

  /// The page that the token of the one before it leads to.
  public func list(
    maxResults: Int64, pageToken: String, completion: @escaping (StorageListResult?, (any Error)?) -> Void
  ) {
    answer(completion) { [self] () throws(StorageError) in try page(maxResults, pageToken) }
  }

  /// Goes on where another list ended.
  public func list(
    maxResults: Int64, pageToken: String, completion: @escaping (Result<StorageListResult, any Error>) -> Void
  ) {
    list(maxResults: maxResults, pageToken: pageToken) { completion(Outcome.result($0, $1)) }
  }

  /// Goes on where another list ended.
  nonisolated(nonsending) public func list(
    maxResults: Int64, pageToken: String
  ) async throws -> StorageListResult {
    try await answered { [self] () throws(StorageError) in try page(maxResults, pageToken) }
  }

  // MARK: All

  /// All that is directly in this folder.
  public func listAll(completion: @escaping (StorageListResult?, (any Error)?) -> Void) {
    answer(completion) { [self] () throws(StorageError) in try all() }
  }

  /// Lists everything below the reference.
  public func listAll(completion: @escaping (Result<StorageListResult, any Error>) -> Void) {
    listAll { completion(Outcome.result($0, $1)) }
  }

  /// Lists everything below the reference.
  nonisolated(nonsending) public func listAll() async throws -> StorageListResult {
    try await answered { [self] () throws(StorageError) in try all() }
  }

  // MARK: Steps

  private func page(_ maxResults: Int64, _ token: String?) throws(StorageError) -> StorageListResult {
    guard (1...Self.resultsMax).contains(maxResults) else {
      throw .invalidArgument(message: "Argument 'maxResults' must be between 1 and 1000 inclusive.")
    }
    var start: String?
    if let token {
      start = PageToken.start(of: token, in: path)
      if start == nil { throw StorageErrors.badRequest("The page token is not valid.", bucket, fullPath) }
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
    do throws(DocumentStoreError) {
      return try objects.list(bucket: bucket, folder: fullPath, from: start, limit: limit)
    } catch {
      throw StorageErrors.translate(error, bucket, fullPath)
    }
  }

  private func result(_ page: ObjectPage) -> StorageListResult {
    func reference(_ name: String) -> StorageReference {
      StorageReference(storage, StoragePath(bucket: bucket, object: name))
    }
    return StorageListResult(
      prefixes: page.folders.map(reference), items: page.items.map(reference),
      pageToken: page.next.map { PageToken.token(start: $0) })
  }
}

/// Where a page begins, in Base64: not for people to read.
private enum PageToken {
  static func token(start: String) -> String { Data(start.utf8).base64EncodedString() }

  /// Nil for what is no token of ours.
  static func start(of token: String, in path: StoragePath) -> String? {
    guard let data = Data(base64Encoded: token), let start = String(validating: data, as: UTF8.self),
      start.hasPrefix("="), !start.contains("/"), start.utf8.count <= 1100
    else { return nil }
    return start
  }
}

// Download URLs for programs on this machine.
//
// A program with the URL can read the object until the URL is revoked.

import DocumentStore
public import Foundation
import ObjectStore

extension Storage {
  /// Returns the bytes of a download URL. Throws `unauthorized` if the object does not have the token of the
  /// URL. Otherwise throws as `reference(for:)` and `data(maxSize:)` do.
  nonisolated(nonsending) public func data(from downloadURL: URL, maxSize: Int64) async throws -> Data {
    let reference = try reference(for: downloadURL)
    let items = URLComponents(url: downloadURL, resolvingAgainstBaseURL: false)?.queryItems
    let token = items?.first { $0.name == "token" }?.value
    let tokens: [String] = try await reference.answered(later: { finish throws(StorageError) in
      try reference.known { found in finish(found.flatMap { reference.tokens(of: $0) }) }
    })
    guard let token, tokens.contains(where: { $0.utf8.elementsEqual(token.utf8) }) else {
      throw StorageErrors.unauthorized(
        "The token of the download URL is none of the object's.", reference.bucket, reference.fullPath)
    }
    return try await reference.data(maxSize: maxSize)
  }
}

extension StorageReference {
  /// Revokes all download URLs of the object, and returns a new one. Fails if a remote exists, because the
  /// remote owns the tokens.
  @discardableResult
  nonisolated(nonsending) public func revokeDownloadTokens() async throws -> URL {
    try await answered { [self] () throws(StorageError) in
      guard storage.client.remote.remote == nil else {
        throw .unknown(message: "Tokens of a remote's objects can only be revoked there.", serverError: [:])
      }
      let object = try withObjects { objects, place throws(DocumentStoreError) -> StoredObject? in
        try objects.setTokens([UploadWorker.newToken()], of: place)
      }
      guard let object else { throw StorageErrors.objectNotFound(bucket, fullPath) }
      return try downloadURL(object.tokens).get()
    }
  }
}

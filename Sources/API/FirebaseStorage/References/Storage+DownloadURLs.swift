// Download URLs for programs on this machine.
//
// A program that has the URL can read the object until the URL is revoked.

import DocumentStore
public import Foundation
import ObjectStore

extension Storage {
  /// Downloads the object that the URL names. Throws `unauthorized` if the token in the URL is not a token of
  /// the object. Also throws the errors of `reference(for:)` and `data(maxSize:)`.
  nonisolated(nonsending) public func data(from downloadURL: URL, maxSize: Int64) async throws -> Data {
    let reference = try reference(for: downloadURL)
    let items = URLComponents(url: downloadURL, resolvingAgainstBaseURL: false)?.queryItems
    let token = items?.first { $0.name == "token" }?.value
    let tokens: [String] = try await reference.answered(later: { finish throws(StorageError) in
      try reference.known { found in finish(found.flatMap { reference.tokens(of: $0) }) }
    })
    guard let token, tokens.contains(where: { $0.utf8.elementsEqual(token.utf8) }) else {
      throw StorageErrors.unauthorized(
        "The token of the download URL does not belong to the object.", reference.bucket,
        object: reference.fullPath
      )
    }
    return try await reference.data(maxSize: maxSize)
  }
}

extension StorageReference {
  /// Revokes all download URLs of the object and returns a new URL. Fails if there is a remote, because only
  /// the remote can change the tokens.
  @discardableResult
  nonisolated(nonsending) public func revokeDownloadTokens() async throws -> URL {
    try await answered { [self] () throws(StorageError) in
      try storage.client.backend.checkMaySetTokens()
      let object = try withObjects { objects, place throws(DocumentStoreError) -> StoredObject? in
        try objects.setTokens([UploadWorker.newToken()], of: place)
      }
      guard let object else { throw StorageErrors.objectNotFound(bucket, fullPath) }
      return try downloadURL(object.tokens).get()
    }
  }
}

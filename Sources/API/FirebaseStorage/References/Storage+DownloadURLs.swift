// Download URLs for programs of this machine: whoever was handed one reads what it names, until it is revoked.

import DocumentStore
public import Foundation
package import ObjectStore

extension Storage {
  /// The bytes that a download URL leads to. Throws `unauthorized` if its token is none of the object's, or not any more,
  /// and else as `reference(for:)` and `data(maxSize:)` do.
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
  /// Makes all download URLs of the object invalid, and returns a new one. With a remote, its tokens are the remote's to
  /// change, and this fails.
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

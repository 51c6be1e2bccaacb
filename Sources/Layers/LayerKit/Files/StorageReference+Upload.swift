// Uploads of the files that documents describe.

package import FirebaseStorage
private import Foundation

extension StorageReference {
  /// Starts the upload of the bytes, or else of the local file. Returns nil if there is neither.
  package func upload(
    _ data: Data?, orFileAt url: URL?, metadata: StorageMetadata,
    completion: @escaping (StorageMetadata?, (any Error)?) -> Void
  ) -> StorageUploadTask? {
    if let data { return putData(data, metadata: metadata, completion: completion) }
    return url.map { putFile(from: $0, metadata: metadata, completion: completion) }
  }
}

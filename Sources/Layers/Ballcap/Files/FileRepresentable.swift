// Objects that show a file.

public import FirebaseStorage
import Foundation
import LayerKit

/// An object with a file, such as a cell with a picture.
public protocol FileRepresentable: AnyObject {
  /// The displayed file.
  var file: File { get set }
}

extension FileRepresentable {
  /// The upload under way; nil if there is none.
  public internal(set) var uploadTask: StorageUploadTask? {
    get { StorageTaskStore.shared.uploads[file.path] }
    set { StorageTaskStore.shared.uploads[file.path] = newValue }
  }

  /// The download under way; nil if there is none.
  public internal(set) var downloadTask: StorageDownloadTask? {
    get { StorageTaskStore.shared.downloads[file.path] }
    set { StorageTaskStore.shared.downloads[file.path] = newValue }
  }

  /// Downloads the bytes unless they are cached. After the download, `file` is a new object, so that
  /// observers of the property notice the change.
  @discardableResult
  public func load(
    _ size: Int64 = Int64(10e8), completion: ((File?, (any Error)?) -> Void)? = nil
  ) -> StorageDownloadTask? {
    let old = file
    guard old.data == nil else {
      completion?(old, nil)
      return nil
    }
    return old.getData(size) { [self] data, error in
      if let data { file = old.copy(with: data) }
      completion?(file, error)
    }
  }

  /// Downloads the bytes unless they are cached. Returns the file with the bytes.
  @discardableResult
  nonisolated(nonsending) public func load(_ size: Int64 = Int64(10e8)) async throws -> File {
    try await awaitCompletion { load(size, completion: $0) }
  }

  /// Cancels the download under way.
  public func cancel() { downloadTask?.cancel() }
}

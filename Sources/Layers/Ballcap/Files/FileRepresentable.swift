// Objects that show a file.

private import FirebaseCore
public import FirebaseStorage
import Foundation

/// An object with a file, a cell with a picture for instance.
public protocol FileRepresentable: AnyObject {
  /// The file that is shown.
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

  /// Loads the bytes, unless they are there already. `file` is another object afterwards, so that whoever watches the
  /// property notices.
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

  /// The same, to be awaited. Returns the file that has the bytes.
  @discardableResult
  nonisolated(nonsending) public func load(_ size: Int64 = Int64(10e8)) async throws -> File {
    try await withCheckedThrowingContinuation { done in
      load(size) { file, error in
        done.resume(with: Result { try Handed((error == nil ? file : nil).orThrow(error)) })
      }
    }.value
  }

  /// Ends the download under way.
  public func cancel() { downloadTask?.cancel() }
}

// What is kept in the storage, and described in a document.

public import FirebaseStorage
import Foundation

/// What describes a file in a bucket.
public protocol Storable {
  /// Where the bytes are.
  var storageReference: StorageReference { get set }
  /// The name in the bucket.
  var path: String { get set }
  /// Where they can be downloaded; nil before the upload.
  var url: URL? { get set }
  /// What kind of bytes they are.
  var mimeType: File.MIMEType { get set }
  /// Values of yours beside the bytes.
  var metadata: [String: String] { get set }
}

extension Storable {
  /// What the process has of it. Setting nil does nothing.
  public var data: Data? {
    get { FileManager.shared.get(storageReference: storageReference) }
    set { if let newValue { FileManager.shared.set(storageReference: storageReference, data: newValue) } }
  }

  /// The upload under way.
  public internal(set) var uploadTask: StorageUploadTask? {
    get { StorageTaskStore.shared.uploads[path] }
    set { StorageTaskStore.shared.uploads[path] = newValue }
  }

  /// The download under way.
  public internal(set) var downloadTask: StorageDownloadTask? {
    get { StorageTaskStore.shared.downloads[path] }
    set { StorageTaskStore.shared.downloads[path] = newValue }
  }
}

/// What goes wrong with files besides the errors of the storage.
public enum FileError: Error, @unchecked Sendable {
  // Unchecked, because it carries the file, which belongs to whoever saved it.
  /// There are no bytes to save.
  case invalidData(any Storable)
  /// It took too long.
  case timeout

  /// What happened, for people.
  public var description: String {
    switch self {
    case .invalidData(let file): "There is no data to save at \(file.path)."
    case .timeout: "The transfer of a file took too long."
    }
  }
}

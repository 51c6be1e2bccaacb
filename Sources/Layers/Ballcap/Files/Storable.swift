// Values that describe a file in the storage.

public import FirebaseStorage
import Foundation

/// A description of a file in a bucket.
public protocol Storable {
  /// The reference of the file.
  var storageReference: StorageReference { get set }
  /// The path in the bucket.
  var path: String { get set }
  /// The download URL; nil before the upload.
  var url: URL? { get set }
  /// The content type.
  var mimeType: File.MIMEType { get set }
  /// Custom metadata.
  var metadata: [String: String] { get set }
}

extension Storable {
  /// The cached bytes. Setting nil does nothing.
  public var data: Data? {
    get { FileManager.shared.get(storageReference: storageReference) }
    set { if let newValue { FileManager.shared.set(storageReference: storageReference, data: newValue) } }
  }

  /// The upload under way; nil if there is none.
  public internal(set) var uploadTask: StorageUploadTask? {
    get { StorageTaskStore.shared.uploads[path] }
    set { StorageTaskStore.shared.uploads[path] = newValue }
  }

  /// The download under way; nil if there is none.
  public internal(set) var downloadTask: StorageDownloadTask? {
    get { StorageTaskStore.shared.downloads[path] }
    set { StorageTaskStore.shared.downloads[path] = newValue }
  }
}

/// Errors of files, besides those of the storage.
public enum FileError: Error, @unchecked Sendable {
  // Unchecked, because the error carries the file, which belongs to the caller of the save.
  /// There are no bytes to upload.
  case invalidData(any Storable)
  /// The transfer timed out.
  case timeout

  /// A description for debugging.
  public var description: String {
    switch self {
    case .invalidData(let file): "There is no data to save at \(file.path)."
    case .timeout: "The transfer of a file took too long."
    }
  }
}

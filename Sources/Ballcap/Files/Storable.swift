// What is kept in the storage, and described in a document.

public import FirebaseStorage
import Foundation

public protocol Storable {
  var storageReference: StorageReference { get set }
  var path: String { get set }
  var url: URL? { get set }
  var mimeType: File.MIMEType { get set }
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
    get { StorageTaskStore.shared.get(upload: path) }
    set { StorageTaskStore.shared.set(upload: path, task: newValue) }
  }

  /// The download under way.
  public internal(set) var downloadTask: StorageDownloadTask? {
    get { StorageTaskStore.shared.get(download: path) }
    set { StorageTaskStore.shared.set(download: path, task: newValue) }
  }
}

/// What goes wrong with files besides the errors of the storage.
public enum FileError: Error, @unchecked Sendable {
  // Unchecked, because it carries the file, which belongs to whoever saved it.
  /// There are no bytes to save.
  case invalidData(any Storable)
  case timeout

  public var description: String {
    switch self {
    case .invalidData(let file): "There is no data to save at \(file.path)."
    case .timeout: "The transfer of a file took too long."
    }
  }
}

// A file in the storage that a document describes.
//
// The bytes are in the storage; the document has the place, the kind, a URL and metadata of the user's. What the
// process has of the bytes is in the file itself, if it was given or has loaded them, else in the shared cache.

public import FirebaseFirestore
public import FirebaseStorage
import Foundation

/// A file as a field of a model.
///
/// ```swift
/// struct User: Codable, Modelable { var name = "", avatar: File? }
/// let user = Document<User>(id: "ada")
/// user.data?.avatar = File(user, name: "avatar", data: Data("…".utf8), mimeType: .png)
/// user.data?.avatar?.save { _, error in if error == nil { user.save() } }
/// ```
public final class File: Storable {
  public var storageReference: StorageReference
  public var path: String
  /// Known once the file was saved through this object, or its metadata were read.
  public var storageMetadata: StorageMetadata?
  public var url: URL?
  public var mimeType: MIMEType
  /// Stored in the document, and with the file as its custom metadata.
  public var metadata: [String: String]
  /// A local file to save where there are no bytes.
  public var originalURL: URL?
  private var bytes: Data?

  /// Beside the reference, under its name with the extension of the type.
  public convenience init(
    _ storageReference: StorageReference, data: Data? = nil, mimeType: MIMEType? = nil, url: URL? = nil,
    metadata: [String: String] = [:]
  ) {
    self.init(
      beside: storageReference, storageReference.name, data: data, mimeType: mimeType, url: url,
      metadata: metadata)
  }

  /// The same under another name.
  public convenience init(
    _ storageReference: StorageReference, data: Data? = nil, name: String, mimeType: MIMEType? = nil
  ) {
    self.init(beside: storageReference, name, data: data, mimeType: mimeType, url: nil, metadata: [:])
  }

  /// Below the place of an object; without a name, it is called after the time.
  public convenience init<T: Documentable>(
    _ object: T, name: String? = nil, data: Data? = nil, mimeType: MIMEType? = nil,
    metadata: [String: String] = [:]
  ) {
    let name = name ?? "\(Int(Date().timeIntervalSince1970 * 1000))"
    self.init(
      object.storageReference.child(name), data: data, mimeType: mimeType, metadata: metadata)
  }

  private convenience init(
    beside storageReference: StorageReference, _ name: String, data: Data?, mimeType: MIMEType?, url: URL?,
    metadata: [String: String]
  ) {
    let (name, type) = Self.generateFileName(name, mimeType: mimeType)
    let folder = storageReference.parent() ?? storageReference.root()
    self.init(at: folder.child(name), type, url: url, metadata: metadata)
    self.data = data
  }

  /// As a document describes it.
  convenience init(path: String, url: URL?, mimeType: File.MIMEType, metadata: [String: String]) {
    self.init(at: Storage.storage().reference(withPath: path), mimeType, url: url, metadata: metadata)
  }

  init(at storageReference: StorageReference, _ mimeType: MIMEType, url: URL?, metadata: [String: String]) {
    self.storageReference = storageReference
    path = storageReference.fullPath
    self.mimeType = mimeType.named(Self.fileExtension(of: path))
    self.url = url
    self.metadata = metadata
  }

  // MARK: What is known

  /// The bytes that this file was given or has loaded, else those that the process has of its place. Setting them
  /// puts them into the cache, too; nil only forgets those of this file.
  public var data: Data? {
    get { bytes ?? FileCache.shared.get(path, generation: storageMetadata?.generation) }
    set {
      bytes = newValue
      if let newValue { FileCache.shared.set(newValue, path) }
    }
  }

  /// The last part of the path.
  public var name: String { storageReference.name }

  /// Whether the bucket has it, as far as is known here.
  public var isUploaded: Bool { storageMetadata != nil }

  /// Path, kind and URL, for people.
  public var debugDescription: String {
    """
    File {
      path: \(path)
      mimeType: \(mimeType.rawValue)
      url: \(url?.absoluteString ?? "nil")
      metadata: \(metadata)
    }
    """
  }

  // MARK: Names

  /// The name with the extension of the type, unless it has one; and the type, which the extension tells if nobody
  /// else does.
  static func generateFileName(_ name: String, mimeType: MIMEType?) -> (String, MIMEType) {
    let found = fileExtension(of: name)
    guard let mimeType else { return (name, found.flatMap { self.mimeType(for: $0) } ?? .octetStream(nil)) }
    guard found == nil, !mimeType.fileExtension.isEmpty else { return (name, mimeType) }
    return ("\(name).\(mimeType.fileExtension)", mimeType)
  }

  static func mimeType(for ext: String) -> MIMEType? { MIMEType(ext: ext) }

  /// Returns the extension of the last part of a path.
  static func fileExtension(of path: String) -> String? {
    path.split(separator: "/").last.flatMap { ContentTypes.fileExtension(of: $0) }
  }

  // MARK: As others see it

  /// What an upload or a download brought.
  func take(_ data: Data?, _ metadata: StorageMetadata?) {
    if let data { bytes = data }
    if let metadata { storageMetadata = metadata }
    if let data = bytes { FileCache.shared.set(data, path, generation: storageMetadata?.generation) }
  }

  /// Another object for the same file, with these bytes.
  func copy(with data: Data) -> File {
    let copy = File(at: storageReference, mimeType, url: url, metadata: metadata)
    copy.originalURL = originalURL
    copy.take(data, storageMetadata)
    return copy
  }

  /// The file is gone.
  func forget() {
    bytes = nil
    storageMetadata = nil
    url = nil
    FileCache.shared.delete(path)
  }
}

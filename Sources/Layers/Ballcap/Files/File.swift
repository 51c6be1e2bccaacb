// A file in the storage that a document describes.
//
// The storage has the bytes. The document has the path, the content type, a URL and the user's metadata. A
// file holds the bytes that it was created with or has downloaded. Other bytes are in the shared cache.

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
  /// The metadata from the storage; nil until this object has uploaded the file or read the metadata.
  public var storageMetadata: StorageMetadata?
  public var url: URL?
  public var mimeType: MIMEType
  /// The user's metadata. It is stored in the document, and also as custom metadata of the file.
  public var metadata: [String: String]
  /// A local file to upload if `data` is nil.
  public var originalURL: URL?
  private var bytes: Data?

  /// Creates a file with the name of the reference, in the folder that contains the reference. A name without
  /// an extension gets the extension of the type.
  public convenience init(
    _ storageReference: StorageReference, data: Data? = nil, mimeType: MIMEType? = nil, url: URL? = nil,
    metadata: [String: String] = [:]
  ) {
    let (place, type) = Self.place(of: storageReference.name, beside: storageReference, mimeType: mimeType)
    self.init(at: place, type, url: url, metadata: metadata)
    self.data = data
  }

  /// Creates a file with this name in the folder that contains the reference. A name without an extension
  /// gets the extension of the type.
  public convenience init(
    _ storageReference: StorageReference, data: Data? = nil, name: String, mimeType: MIMEType? = nil
  ) {
    let (place, type) = Self.place(of: name, beside: storageReference, mimeType: mimeType)
    self.init(at: place, type, url: nil, metadata: [:])
    self.data = data
  }

  /// Creates a file in the storage folder of an object. Without a name, the file is named after the current
  /// time.
  public convenience init<T: Documentable>(
    _ object: T, name: String? = nil, data: Data? = nil, mimeType: MIMEType? = nil,
    metadata: [String: String] = [:]
  ) {
    let name = name ?? "\(Int(Date().timeIntervalSince1970 * 1000))"
    self.init(
      object.storageReference.child(name), data: data, mimeType: mimeType, metadata: metadata)
  }

  /// Returns the reference and the type of a file with this name in the folder that contains the reference.
  private static func place(
    of name: String, beside storageReference: StorageReference, mimeType: MIMEType?
  ) -> (StorageReference, MIMEType) {
    let (name, type) = generateFileName(name, mimeType: mimeType)
    let folder = storageReference.parent() ?? storageReference.root()
    return (folder.child(name), type)
  }

  /// Creates a file from its description in a document.
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

  // MARK: Content

  /// The bytes that this file was created with or has downloaded. If there are none, the bytes that are
  /// cached for its path. Setting bytes also caches them. Setting nil removes only the bytes of this object.
  public var data: Data? {
    get { bytes ?? FileCache.shared.get(path, generation: storageMetadata?.generation) }
    set {
      bytes = newValue
      if let newValue { FileCache.shared.set(newValue, path) }
    }
  }

  /// The last part of the path.
  public var name: String { storageReference.name }

  /// Whether this object has uploaded the file or read its metadata.
  public var isUploaded: Bool { storageMetadata != nil }

  /// A description for debugging.
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

  /// Returns the name and the type. A name without an extension gets the extension of the type. Without a
  /// type, the extension of the name determines it.
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

  // MARK: State

  /// Stores the bytes and the metadata that an upload or a download returned. Also caches the bytes.
  func take(_ data: Data?, _ metadata: StorageMetadata?) {
    if let data { bytes = data }
    if let metadata { storageMetadata = metadata }
    if let data = bytes { FileCache.shared.set(data, path, generation: storageMetadata?.generation) }
  }

  /// Returns another object for this file, with these bytes.
  func copy(with data: Data) -> File {
    let copy = File(at: storageReference, mimeType, url: url, metadata: metadata)
    copy.originalURL = originalURL
    copy.take(data, storageMetadata)
    return copy
  }

  /// Clears the bytes, `storageMetadata` and `url` after the file was deleted, and removes the cached bytes.
  func forget() {
    bytes = nil
    storageMetadata = nil
    url = nil
    FileCache.shared.delete(path)
  }
}

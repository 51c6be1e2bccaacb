// An object's place: navigation.

public import Foundation

/// Refers to an object or a folder, whether there is one or not. Equal if bucket and path are.
///
/// ```swift
/// let picture = Storage.storage().reference().child("pictures/eros.jpg")
/// let metadata = try await picture.putDataAsync(data)
/// let url = try await picture.downloadURL()
/// ```
open class StorageReference: NSObject, @unchecked Sendable {
  // Unchecked only because the class is open: it never changes.

  /// Whose bucket it is.
  public let storage: Storage
  let path: StoragePath

  init(_ storage: Storage, _ path: StoragePath) {
    self.storage = storage
    self.path = path
  }

  /// The name of the bucket.
  public var bucket: String { path.bucket }

  /// The path of the object in its bucket; empty for the root.
  public var fullPath: String { path.object }

  /// The last component of the path; empty for the root.
  public var name: String { path.name }

  /// The root of the bucket.
  open func root() -> StorageReference { StorageReference(storage, path.root) }

  /// The folder that this is in; nil for the root.
  open func parent() -> StorageReference? { path.parent.map { StorageReference(storage, $0) } }

  /// What is at a path relative to this one. Runs of slashes count as one, those at the ends as none.
  open func child(_ path: String) -> StorageReference { StorageReference(storage, self.path.child(path)) }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? StorageReference else { return false }
    return storage.isEqual(other.storage) && path == other.path
  }

  open override var hash: Int { path.hashValue }

  open override var description: String { path.description }
}

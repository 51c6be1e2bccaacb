// References to objects and folders, and navigation between them.

public import Foundation

/// A reference to an object or a folder. The object or folder need not exist. References are equal if their
/// buckets and paths are equal.
///
/// ```swift
/// let picture = Storage.storage().reference().child("pictures/eros.jpg")
/// let metadata = try await picture.putDataAsync(data)
/// let url = try await picture.downloadURL()
/// ```
open class StorageReference: NSObject, @unchecked Sendable {
  // The conformance is unchecked only because the class is open. Its properties never change.

  /// The `Storage` instance that created the reference.
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

  /// The enclosing folder; nil for the root.
  open func parent() -> StorageReference? { path.parent.map { StorageReference(storage, $0) } }

  /// Returns a reference to a path relative to this reference. Repeated slashes count as one slash. Slashes
  /// at the start and the end are ignored.
  open func child(_ path: String) -> StorageReference { StorageReference(storage, self.path.child(path)) }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? StorageReference else { return false }
    return storage.isEqual(other.storage) && path == other.path
  }

  open override var hash: Int { path.hashValue }

  open override var description: String { path.description }
}

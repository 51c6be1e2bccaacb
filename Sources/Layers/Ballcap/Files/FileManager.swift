// The public access to the cache of file bytes.

public import FirebaseStorage
import Foundation

/// The cached file bytes of this process, by path. A source file that also imports Foundation must write
/// `Ballcap.FileManager`.
public final class FileManager: Sendable {
  /// The file manager of this process.
  public static let shared = FileManager()

  /// Returns the cached bytes of the file; nil if there are none.
  public func get(storageReference: StorageReference) -> Data? { get(key: storageReference.fullPath) }

  /// Returns the bytes that are cached under the key; nil if there are none.
  public func get(key: String) -> Data? { FileCache.shared.get(key) }

  /// Caches the bytes of the file.
  public func set(storageReference: StorageReference, data: Data) {
    set(key: storageReference.fullPath, data: data)
  }

  /// Caches bytes under a key.
  public func set(key: String, data: Data) { FileCache.shared.set(data, key) }

  /// Removes the bytes of the file from the cache.
  public func delete(reference: StorageReference) { delete(key: reference.fullPath) }

  /// Removes the bytes under the key from the cache.
  public func delete(key: String) { FileCache.shared.delete(key) }
}

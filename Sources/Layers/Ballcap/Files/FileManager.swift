// The bytes of files that the process has, for everybody.

public import FirebaseStorage
import Foundation

/// What the process has of files, by their places. A file that imports Foundation as well says `Ballcap.FileManager`.
public final class FileManager: Sendable {
  /// The one of this process.
  public static let shared = FileManager()

  /// The bytes that are cached for the object; nil if there are none.
  public func get(storageReference: StorageReference) -> Data? { FileCache.shared.get(storageReference) }

  /// The bytes that are cached under the key; nil if there are none.
  public func get(key: String) -> Data? { FileCache.shared.get(key) }

  /// Caches the bytes of the object.
  public func set(storageReference: StorageReference, data: Data) {
    FileCache.shared.set(data, reference: storageReference)
  }

  /// Caches bytes under a key.
  public func set(key: String, data: Data) { FileCache.shared.set(key: key, data: data) }

  /// Forgets the bytes of the object.
  public func delete(reference: StorageReference) { FileCache.shared.delete(reference: reference) }

  /// Forgets the bytes under the key.
  public func delete(key: String) { FileCache.shared.delete(key: key) }
}

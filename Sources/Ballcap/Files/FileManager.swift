// The bytes of files that the process has, for everybody.

public import FirebaseStorage
import Foundation

/// What the process has of files, by their places. A file that imports Foundation as well says `Ballcap.FileManager`.
public final class FileManager: Sendable {
  public static let shared = FileManager()

  public func get(storageReference: StorageReference) -> Data? { FileCache.shared.get(storageReference) }

  public func get(key: String) -> Data? { FileCache.shared.get(key) }

  public func set(storageReference: StorageReference, data: Data) {
    FileCache.shared.set(data, reference: storageReference)
  }

  public func set(key: String, data: Data) { FileCache.shared.set(key: key, data: data) }

  public func delete(reference: StorageReference) { FileCache.shared.delete(reference: reference) }

  public func delete(key: String) { FileCache.shared.delete(key: key) }
}

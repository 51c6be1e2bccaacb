// The bytes of files that the process has seen last, within 256 MiB.

private import FirebaseCore
import FirebaseStorage
import Foundation

/// One entry for each place: the bytes, and if it is known, which state of the file they are. A file that knows that it
/// is another state does not get them.
final class FileCache: Sendable {
  static let shared = FileCache()

  static let byteCountMax = 256 << 20

  private struct Entry {
    var data: Data
    var generation: Int64?
  }

  private let entries = Guarded(
    RecentValues<String, Entry>(countMax: 100_000, costMax: FileCache.byteCountMax))

  func get(_ path: String, generation: Int64?) -> Data? {
    guard let entry = entries.withLock({ $0.value(for: path) }) else { return nil }
    if let generation, let known = entry.generation, generation != known { return nil }
    return entry.data
  }

  func set(_ data: Data, _ path: String, generation: Int64?) {
    entries.withLock { $0.insert(Entry(data: data, generation: generation), for: path, cost: data.count) }
  }

  func get(_ reference: StorageReference) -> Data? { get(reference.fullPath) }
  func get(_ path: String) -> Data? { get(path, generation: nil) }
  func set(_ data: Data, reference: StorageReference) { set(key: reference.fullPath, data: data) }
  func set(key: String, data: Data) { set(data, key, generation: nil) }
  func delete(reference: StorageReference) { delete(key: reference.fullPath) }
  func delete(key: String) { entries.withLock { _ = $0.remove(key) } }
}

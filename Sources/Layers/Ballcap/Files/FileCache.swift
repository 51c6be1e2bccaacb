// An LRU cache of file bytes, up to 256 MiB.

private import ByteStore
import Foundation

/// The bytes of each path, with the generation of the file if it is known. If the caller and the cache know
/// different generations, a lookup returns nil.
final class FileCache: Sendable {
  static let shared = FileCache()

  static let byteCountMax = 256 << 20

  private struct Entry {
    var data: Data
    var generation: Int64?
  }

  private let entries = Locked(
    RecentValues<String, Entry>(countMax: 100_000, costMax: FileCache.byteCountMax))

  func get(_ path: String, generation: Int64? = nil) -> Data? {
    guard let entry = entries.withLock({ $0.value(for: path) }) else { return nil }
    if let generation, let known = entry.generation, generation != known { return nil }
    return entry.data
  }

  func set(_ data: Data, _ path: String, generation: Int64? = nil) {
    entries.withLock { $0.insert(Entry(data: data, generation: generation), for: path, cost: data.count) }
  }

  func delete(_ path: String) { entries.withLock { _ = $0.remove(path) } }
}

// Cache settings, with the types that existing code uses.

import FirebaseCore
public import Foundation

/// The size of a cache that never evicts documents.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let FirestoreCacheSizeUnlimited: Int64 = -1

enum CacheSize {
  static let standard: Int64 = 100 << 20
  static let least: Int64 = 1 << 20

  static func check(_ size: Int64) {
    guard size < least, size != FirestoreCacheSizeUnlimited else { return }
    ProgrammerError.report("Cache size must be set to at least \(least) bytes")
  }
}

/// The effective cache settings.
enum CacheChoice: Hashable {
  case persistent(Int64)
  case memoryEager
  case memoryLRU(Int64)

  var isPersistent: Bool { if case .persistent = self { true } else { false } }

  var size: Int64 {
    switch self {
    case .persistent(let size), .memoryLRU(let size): size
    case .memoryEager: CacheSize.standard
    }
  }

  func withSize(_ size: Int64) -> CacheChoice { isPersistent ? .persistent(size) : .memoryLRU(size) }

  var settings: any LocalCacheSettings & NSObjectProtocol {
    switch self {
    case .persistent(let size): PersistentCacheSettings(sizeBytes: NSNumber(value: size))
    case .memoryEager: MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    case .memoryLRU(let size):
      MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: NSNumber(value: size)))
    }
  }
}

// Only types of this module conform to these two protocols.

/// `PersistentCacheSettings` or `MemoryCacheSettings`.
public protocol LocalCacheSettings {}

/// `MemoryEagerGCSetting` or `MemoryLRUGCSettings`.
public protocol MemoryGarbageCollectorSettings {}

extension LocalCacheSettings {
  var choice: CacheChoice {
    switch self {
    case let memory as MemoryCacheSettings: memory.choice
    case let persistent as PersistentCacheSettings: .persistent(persistent.size)
    default: ProgrammerError.trap("Unsupported cache settings: \(type(of: self))")
    }
  }
}

/// Settings for a cache on disk, equal by value.
public final class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings, Sendable {
  let size: Int64

  public override init() { size = CacheSize.standard }

  /// Sets the size of the cache. Traps below 1048576 bytes, unless the size is
  /// `FirestoreCacheSizeUnlimited`.
  public init(sizeBytes: NSNumber) {
    size = sizeBytes.int64Value
    CacheSize.check(size)
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { (object as? PersistentCacheSettings)?.size == size }

  public override var hash: Int { size.hashValue }
}

/// Settings for a database in memory, which is lost when it is terminated. Equal by value.
public final class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings, Sendable {
  fileprivate let choice: CacheChoice

  public override init() { choice = .memoryLRU(CacheSize.standard) }

  /// Creates settings with a garbage collector. With a remote, the collector determines which documents stay
  /// in the cache, and for how long. Without a remote, nothing is evicted and the argument has no effect.
  public init(garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol) {
    let size = (garbageCollectorSettings as? MemoryLRUGCSettings)?.size
    choice = size.map(CacheChoice.memoryLRU) ?? .memoryEager
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { (object as? MemoryCacheSettings)?.choice == choice }

  public override var hash: Int { choice.hashValue }
}

/// Evicts documents as soon as no listener or pending write uses them.
public final class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings, Sendable {
  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

  public override var hash: Int { 1 }
}

/// Evicts the least recently used documents when the cache is full. Equal by value.
public final class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings, Sendable {
  let size: Int64

  public override init() { size = CacheSize.standard }

  /// Sets the size of the cache. Traps below 1048576 bytes, unless the size is
  /// `FirestoreCacheSizeUnlimited`.
  public init(sizeBytes: NSNumber) {
    size = sizeBytes.int64Value
    CacheSize.check(size)
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { (object as? MemoryLRUGCSettings)?.size == size }

  public override var hash: Int { size.hashValue }
}

// What an app can choose before the first use of a database.

private import DocumentStore
import FirebaseCore
public import Foundation
public import OfflineSync

/// What a write survives once its completion is called.
public enum FirestoreDurability: Hashable, Sendable {
  /// Everything: it is on stable storage.
  case synced
  /// The death of the process. A power loss may take the writes of the last 100 ms, the latest ones first.
  case buffered
}

/// When a write that somebody waits for counts as done, with a remote.
public enum FirestoreAcknowledgement: Hashable, Sendable {
  /// When the remote has accepted or rejected it. Offline, that may be never.
  case server
  /// When it is in the queue, from where only the remote's answer takes it. Whether it was rejected is seen in
  /// the data, and heard by `addRejectedWritesListener(_:)`.
  case local
}

/// Settings of a database; equal by value. Any thread may read and change them.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.dispatchQueue = DispatchQueue(label: "callbacks")
/// Firestore.firestore().settings = settings
/// ```
///
/// Without a remote, the database is the server, so that nothing is ever collected: sizes of caches are
/// accepted and without effect.
public final class FirestoreSettings: NSObject, NSCopying, Sendable {
  static let hostDefault = "firestore.googleapis.com"

  private let guarded: Guarded<Values>

  struct Values: Equatable {
    var host = FirestoreSettings.hostDefault
    var isSSLEnabled = true
    var dispatchQueue = DispatchQueue.main
    var durability = FirestoreDurability.synced
    var cache = CacheChoice.persistent(CacheSize.standard)
    var remote: RemoteChoice?
    var remoteAttachment = RemoteAttachment.refuse
    var acknowledgement = FirestoreAcknowledgement.server
    var cacheBudgets: [String: Int64] = [:]
    var conflicts: ConflictChoice?
    var remotePatience: Double = 60
    /// Which of the two ways to choose a cache was used.
    var hasCacheSettings = false
    var hasOldCacheSettings = false

    static func == (left: Self, right: Self) -> Bool {
      left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
        && isSame(left.dispatchQueue, right.dispatchQueue) && left.cache == right.cache
        && left.durability == right.durability && left.remote === right.remote
        && left.remoteAttachment == right.remoteAttachment && left.acknowledgement == right.acknowledgement
        && left.cacheBudgets == right.cacheBudgets && left.conflicts === right.conflicts
        && left.remotePatience == right.remotePatience
    }

    /// On Linux the main queue is a new object each time.
    private static func isSame(_ left: DispatchQueue, _ right: DispatchQueue) -> Bool {
      left === right || (left.label == DispatchQueue.main.label && right.label == left.label)
    }
  }

  public override convenience init() { self.init(Values()) }

  init(_ values: Values) { guarded = Guarded(values) }

  /// All of it at one moment.
  var values: Values { guarded.withLock { $0 } }

  /// Of a remote. Kept, and without effect as long as there is none.
  public var host: String {
    get { values.host }
    set { guarded.withLock { $0.host = newValue } }
  }

  /// Of a remote. Turning it off needs another host than the default one, or the first use traps.
  public var isSSLEnabled: Bool {
    get { values.isSSLEnabled }
    set { guarded.withLock { $0.isSSLEnabled = newValue } }
  }

  /// Where completions and listeners run: the main queue unless set. A program that does not run its main
  /// loop has to set another one, or it waits for its callbacks for ever; the async calls need none.
  public var dispatchQueue: DispatchQueue {
    get { values.dispatchQueue }
    set { guarded.withLock { $0.dispatchQueue = newValue } }
  }

  /// When a write counts as done. Of several instances that share a store, the first that uses it decides.
  public var durability: FirestoreDurability {
    get { values.durability }
    set { guarded.withLock { $0.durability = newValue } }
  }

  /// The authority behind the database. With one, the directory becomes its cache and a queue of writes, and remembers
  /// that: it cannot be used without a remote any more.
  public var remote: (any Remote)? {
    get { values.remote?.remote }
    set { guarded.withLock { $0.remote = newValue.map { RemoteChoice($0) } } }
  }

  /// What becomes of documents from before the remote, the first time that it is attached. `.refuse` fails the first
  /// call if there are any.
  public var remoteAttachment: RemoteAttachment {
    get { values.remoteAttachment }
    set { guarded.withLock { $0.remoteAttachment = newValue } }
  }

  /// With a remote: when the completion of a write is called.
  public var acknowledgement: FirestoreAcknowledgement {
    get { values.acknowledgement }
    set { guarded.withLock { $0.acknowledgement = newValue } }
  }

  /// With a remote: the seconds that one question to it is worth. For tests, which have less of it.
  package var remotePatience: Double {
    get { values.remotePatience }
    set { guarded.withLock { $0.remotePatience = newValue } }
  }

  /// With a remote: what becomes of writes that waited while others changed their document. Without one, the last write
  /// wins. It is called on a queue of ours, which waits for it: it must not use the database.
  public var conflictResolver: (@Sendable (FirestoreConflict) -> FirestoreConflict.Resolution)? {
    get { values.conflicts?.resolve }
    set { guarded.withLock { $0.conflicts = newValue.map { ConflictChoice($0) } } }
  }

  /// With a remote: how many bytes the documents of a collection may take in the cache, by its path. What was used
  /// longest ago goes, now and then; what a listener sees and what has pending writes stays.
  ///
  /// ```swift
  /// let settings = FirestoreSettings()
  /// settings.cacheBudgets = ["messages": 10 << 20]
  /// ```
  public var cacheBudgets: [String: Int64] {
    get { values.cacheBudgets }
    set { guarded.withLock { $0.cacheBudgets = newValue } }
  }

  /// `MemoryCacheSettings` means a database in memory, which is gone when it is terminated.
  public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
    get { values.cache.settings }
    set {
      setCache { values in
        values.hasCacheSettings = true
        values.cache = newValue.choice
      }
    }
  }

  /// The same as a choice of cache settings.
  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var isPersistenceEnabled: Bool {
    get { values.cache.isPersistent }
    set {
      setCache { values in
        values.hasOldCacheSettings = true
        values.cache = newValue ? .persistent(values.cache.size) : .memoryLRU(values.cache.size)
      }
    }
  }

  /// The same as the size in the cache settings.
  @available(*, deprecated, message: "Use cacheSettings instead.")
  public var cacheSizeBytes: Int64 {
    get { values.cache.size }
    set {
      CacheSize.check(newValue)
      setCache { values in
        values.hasOldCacheSettings = true
        values.cache = values.cache.withSize(newValue)
      }
    }
  }

  private func setCache(_ change: (inout Values) -> Void) {
    let isMixed = guarded.withLock { values in
      change(&values)
      return values.hasCacheSettings && values.hasOldCacheSettings
    }
    guard isMixed else { return }
    ProgrammerError.trap("Cannot set cacheSettings together with isPersistenceEnabled or cacheSizeBytes.")
  }

  public func copy(with zone: NSZone? = nil) -> Any { FirestoreSettings(values) }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return values == other.values
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(values.host)
    hasher.combine(values.dispatchQueue.label)
    hasher.combine(values.cache)
    return hasher.finalize()
  }
}

/// The remote that was chosen: the same as itself, whatever it is.
final class RemoteChoice: Sendable {
  let remote: any Remote

  init(_ remote: any Remote) { self.remote = remote }
}

extension FirestoreSettings.Values {
  func clientRemote(of firestore: Firestore) -> ClientRemote? {
    guard let remote else { return nil }
    var options = SyncEngine.Options()
    options.resolver = conflicts?.resolver(for: firestore)
    options.silence = Int64(remotePatience * 1_000_000) / 12
    if cache != .memoryEager {
      options.cacheBytesMax = UInt64(exactly: cache.size)
      for (path, bytes) in cacheBudgets {
        options.budgets[CollectionPath(unchecked: PathText.collection(path))] = UInt64(clamping: bytes)
      }
    }
    return ClientRemote(
      remote: remote.remote, attachment: remoteAttachment,
      acknowledgement: acknowledgement == .local ? .local : .server, patience: remotePatience,
      collector: cache == .memoryEager ? .eager : .lru, options: options)
  }
}

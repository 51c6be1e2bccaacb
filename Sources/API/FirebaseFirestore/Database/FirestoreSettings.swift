// The settings of a database, which an app can change before the first use.

public import ByteStore
private import DocumentStore
package import FirebaseCore
public import Foundation
public import OfflineSync

/// The failures that a write survives once its completion was called.
public enum FirestoreDurability: Hashable, Sendable {
  /// The write survives every failure, because it is on stable storage.
  case synced
  /// The write survives the death of the process. A power loss may drop the writes of the last 100 ms, the
  /// latest first.
  case buffered
}

/// The time at which a write is acknowledged if the database has a remote.
public enum FirestoreAcknowledgement: Hashable, Sendable {
  /// The write is acknowledged when the remote has accepted or rejected it. Offline, that may be never.
  case server
  /// The write is acknowledged when it is in the outbox. It stays there until the remote answers. If the
  /// remote rejects the write, its effect disappears from the data, and the listeners of
  /// `addRejectedWritesListener(_:)` receive it.
  case local
}

/// The networks over which a database syncs.
public enum FirestoreNetworkUse: Hashable, Sendable {
  /// The database syncs over any network.
  case any
  /// The database pauses while the network is metered, as if `disableNetwork()` had been called. A network is
  /// metered if the system or the `networkMonitor` says so.
  case unmetered
}

/// Settings of a database, equal by value. Any thread may read and change them.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.dispatchQueue = DispatchQueue(label: "callbacks")
/// Firestore.firestore().settings = settings
/// ```
///
/// Without a remote, the database itself is the server and evicts nothing. It accepts cache sizes, but
/// ignores them.
public final class FirestoreSettings: NSObject, NSCopying, Sendable {
  static let hostDefault = "firestore.googleapis.com"

  private let guarded: Locked<Values>

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
    var conflicts: (any ConflictPolicy)?
    var remoteTimeLimit: Double = 60
    var networkMonitor: NetworkMonitorChoice?
    var networkUse = FirestoreNetworkUse.any
    var instruments: InstrumentsChoice?
    var memoryBudget: Int?
    var refreshInterval = StoreFollower.secondsDefault
    var environment: ClientEnvironment?
    /// There are two ways to choose a cache, which must not be mixed. Each flag says whether the app has used
    /// one of them.
    var hasCacheSettings = false
    var hasOldCacheSettings = false

    static func == (left: Self, right: Self) -> Bool {
      left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
        && isSame(left.dispatchQueue, right.dispatchQueue) && left.cache == right.cache
        && left.durability == right.durability && isSame(left.remote, right.remote)
        && left.remoteAttachment == right.remoteAttachment && left.acknowledgement == right.acknowledgement
        && left.cacheBudgets == right.cacheBudgets && left.conflicts === right.conflicts
        && left.remoteTimeLimit == right.remoteTimeLimit && isSame(left.networkMonitor, right.networkMonitor)
        && left.networkUse == right.networkUse && left.instruments === right.instruments
        && left.refreshInterval == right.refreshInterval && left.memoryBudget == right.memoryBudget
        && left.environment === right.environment
    }

    private static func isSame(_ left: RemoteChoice?, _ right: RemoteChoice?) -> Bool {
      guard let left, let right else { return left === right }
      return left === right || left.remote as AnyObject === right.remote as AnyObject
    }

    private static func isSame(_ left: NetworkMonitorChoice?, _ right: NetworkMonitorChoice?) -> Bool {
      guard let left, let right else { return left === right }
      return left === right || left.monitor as AnyObject === right.monitor as AnyObject
    }

    /// Compares labels too, because on Linux `DispatchQueue.main` is a new object each time.
    private static func isSame(_ left: DispatchQueue, _ right: DispatchQueue) -> Bool {
      left === right || (left.label == DispatchQueue.main.label && right.label == left.label)
    }
  }

  public override convenience init() { self.init(Values()) }

  init(_ values: Values) { guarded = Locked(values) }

  func change(_ body: (inout Values) -> Void) { guarded.withLock { body(&$0) } }

  /// A consistent copy of all settings.
  var values: Values { guarded.withLock { $0 } }

  /// The host of the database's Firestore, with a port if it is not the usual one: a server of Dugout, or
  /// Firestore's emulator. While it is unchanged and `remote` is nil, the database is embedded in the
  /// program.
  ///
  /// Any other host makes a `FirestoreRemote` for the project of the app, unless there is a `remote`. Without
  /// `isSSLEnabled`, requests name the user of the app to an emulator. For other credentials, and for Cloud
  /// Firestore, set a `remote`. The first use traps if the app has no project.
  public var host: String {
    get { values.host }
    set { guarded.withLock { $0.host = newValue } }
  }

  /// Whether to encrypt the connections to `host`. If it is false and `host` is the default, the first use
  /// traps.
  public var isSSLEnabled: Bool {
    get { values.isSSLEnabled }
    set { guarded.withLock { $0.isSSLEnabled = newValue } }
  }

  /// The queue for completions and listeners, by default the main queue. A program that does not run its
  /// main loop must set another queue, or its callbacks never run. The async calls need no queue.
  public var dispatchQueue: DispatchQueue {
    get { values.dispatchQueue }
    set { guarded.withLock { $0.dispatchQueue = newValue } }
  }

  /// The durability that a write has when it is acknowledged. If several instances share a store, the setting
  /// of the first instance that uses the store applies.
  public var durability: FirestoreDurability {
    get { values.durability }
    set { guarded.withLock { $0.durability = newValue } }
  }

  /// The remote that is authoritative for the database, in place of one at `host`. With a remote, the
  /// directory becomes a cache with an outbox. The directory records that it has a remote, and cannot be used
  /// without a remote afterwards. The first use of an instance of an app traps if its
  /// `FirestoreRemote` is of another database.
  public var remote: (any Remote)? {
    get { values.remote?.remote }
    set { guarded.withLock { $0.remote = newValue.map { RemoteChoice($0) } } }
  }

  /// The treatment of existing documents when a remote is attached for the first time. `.refuse` fails the
  /// first call if any documents exist.
  public var remoteAttachment: RemoteAttachment {
    get { values.remoteAttachment }
    set { guarded.withLock { $0.remoteAttachment = newValue } }
  }

  /// The time at which a write's completion is called if the database has a remote.
  public var acknowledgement: FirestoreAcknowledgement {
    get { values.acknowledgement }
    set { guarded.withLock { $0.acknowledgement = newValue } }
  }

  /// The receiver of the database's events and measurements, for example an adapter for a metrics system. If
  /// several instances share a store, the setting of the first instance that uses the store applies.
  ///
  /// ```swift
  /// struct Warnings: Instruments {
  ///   func event(_ event: InstrumentEvent) {
  ///     if event.level == .warning || event.level == .error { print(event) }
  ///   }
  /// }
  ///
  /// let settings = FirestoreSettings()
  /// settings.instruments = Warnings()
  /// ```
  public var instruments: (any Instruments)? {
    get { values.instruments?.instruments }
    set { guarded.withLock { $0.instruments = newValue.map { InstrumentsChoice($0) } } }
  }

  /// The limit for the memory of the database in bytes, at least 16 MiB. It bounds the cache of pages, the
  /// writes that are only in the write-ahead log, the indexes, and the results of running queries together.
  /// `Firestore.health()` shows what is used.
  ///
  /// Nil, the default, means the value of the environment variable `DUGOUT_MEMORY_BUDGET`, such as `192MiB`.
  /// If that is not set either, and the process runs in a control group with a memory limit, as in a
  /// container, the budget is half of that limit. Otherwise each part has only a limit of its own. A budget
  /// above three quarters of the control group's limit is lowered to three quarters.
  ///
  /// With a budget, an index that does not fit is not built. Its queries read more documents instead, and
  /// `createIndex(_:)` fails with `resourceExhausted`, as does a query whose result does not fit. If several
  /// instances share a store, the setting of the first instance that uses the store applies. A smaller value
  /// than 16 MiB fails the first call with `invalidArgument`.
  ///
  /// ```swift
  /// let settings = FirestoreSettings()
  /// settings.memoryBudget = 192 << 20
  /// ```
  public var memoryBudget: Int? {
    get { values.memoryBudget }
    set { guarded.withLock { $0.memoryBudget = newValue } }
  }

  /// The time between the refreshes of a read-only database that has listeners or is followed, in seconds;
  /// by default a quarter of a second. Values outside one millisecond to one day are moved to the nearest of
  /// these. While refreshes fail, the time doubles with each failure, up to 30 seconds. Has no effect on a
  /// database that is open for writing.
  ///
  /// ```swift
  /// let settings = FirestoreSettings()
  /// settings.refreshInterval = 2
  /// ```
  public var refreshInterval: Double {
    get { values.refreshInterval }
    set { guarded.withLock { $0.refreshInterval = newValue > 0.001 ? min(newValue, 86_400) : 0.001 } }
  }

  /// The networks over which the database syncs, until `setNetworkUse(_:)` changes it. If several instances
  /// share a store, the setting of the first instance that uses the store applies.
  ///
  /// ```swift
  /// let settings = FirestoreSettings()
  /// settings.networkUse = .unmetered
  /// ```
  public var networkUse: FirestoreNetworkUse {
    get { values.networkUse }
    set { guarded.withLock { $0.networkUse = newValue } }
  }

  /// The monitor of the device's network, in place of the one of the remote. A `FirestoreRemote` has the
  /// monitor of the system, unless its host is this machine. Set one if the app knows more about the network
  /// than the system does. If several instances share a store, the setting of the first instance that uses
  /// the store applies.
  ///
  /// ```swift
  /// let network = ReportedNetworkMonitor()
  /// let settings = FirestoreSettings()
  /// settings.networkMonitor = network
  /// network.report(.available(NetworkPath("modem")))
  /// ```
  public var networkMonitor: (any NetworkMonitor)? {
    get { values.networkMonitor?.monitor }
    set { guarded.withLock { $0.networkMonitor = newValue.map { NetworkMonitorChoice($0) } } }
  }

  /// The time limit for one request to the remote, in seconds. Tests set a shorter one.
  package var remoteTimeLimit: Double {
    get { values.remoteTimeLimit }
    set { guarded.withLock { $0.remoteTimeLimit = newValue } }
  }

  /// The environment of the database in a simulation; nil outside a simulation.
  package var environment: ClientEnvironment? {
    get { values.environment }
    set { guarded.withLock { $0.environment = newValue } }
  }

  /// The maximum number of bytes that the documents of a collection may take up in the cache, by the
  /// collection's path. It applies only with a remote. When a collection exceeds its maximum, its least
  /// recently used documents are evicted from time to time. Documents that a listener sees or that have
  /// pending writes are not evicted.
  ///
  /// ```swift
  /// let settings = FirestoreSettings()
  /// settings.cacheBudgets = ["messages": 10 << 20]
  /// ```
  public var cacheBudgets: [String: Int64] {
    get { values.cacheBudgets }
    set { guarded.withLock { $0.cacheBudgets = newValue } }
  }

  /// The kind and size of the cache. `MemoryCacheSettings` means a database in memory, which is lost when
  /// it is terminated.
  public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
    get { values.cache.settings }
    set {
      setCache { values in
        values.hasCacheSettings = true
        values.cache = newValue.choice
      }
    }
  }

  /// Whether the cache is on disk; the older form of `cacheSettings`.
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

  /// The size of the cache in bytes; the older form of `cacheSettings`.
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

/// The conflict resolver in the settings. Two resolvers are equal only if they are the same object, because
/// closures cannot be compared.
protocol ConflictPolicy: AnyObject, Sendable {
  /// Returns the resolver in the form that the engine calls.
  func resolver(for firestore: Firestore) -> ConflictResolver
}

/// The remote in the settings. Two of them are equal if they have the same object.
final class RemoteChoice: Sendable {
  let remote: any Remote

  init(_ remote: any Remote) { self.remote = remote }
}

/// The network monitor in the settings. Two of them are equal if they have the same object.
final class NetworkMonitorChoice: Sendable {
  let monitor: any NetworkMonitor

  init(_ monitor: any NetworkMonitor) { self.monitor = monitor }
}

/// The instruments in the settings. Two of them are equal only if they are the same object.
final class InstrumentsChoice: Sendable {
  let instruments: any Instruments

  init(_ instruments: any Instruments) { self.instruments = instruments }
}

extension NetworkUse {
  init(_ use: FirestoreNetworkUse) {
    self =
      switch use {
      case .any: .any
      case .unmetered: .unmetered
      }
  }
}

extension FirestoreSettings.Values {
  /// Where the authority is; nil if there is a remote, or if the database is embedded in the program.
  var remoteHost: RemoteHost? {
    guard remote == nil, host != FirestoreSettings.hostDefault else { return nil }
    return RemoteHost(name: host, isSSLEnabled: isSSLEnabled)
  }

  func clientRemote(of firestore: Firestore) -> ClientRemote? {
    let chosen =
      remote?.remote ?? remoteHost?.remote(of: firestore.app, database: firestore.databaseID)
    guard let chosen else { return nil }
    var options = SyncEngine.Options()
    options.resolver = conflicts?.resolver(for: firestore)
    options.silenceInterval = Int64(remoteTimeLimit * 1_000_000) / 12
    options.networkMonitor = networkMonitor?.monitor
    options.networkUse = NetworkUse(networkUse)
    if cache != .memoryEager {
      options.cacheBytesMax = UInt64(exactly: cache.size)
      for (path, bytes) in cacheBudgets {
        options.budgets[CollectionPath(unchecked: PathText.collection(path))] = UInt64(clamping: bytes)
      }
    }
    return ClientRemote(
      remote: chosen, attachment: remoteAttachment,
      acknowledgement: acknowledgement == .local ? .local : .server, timeLimit: remoteTimeLimit,
      collector: cache == .memoryEager ? .eager : .lru, options: options)
  }
}

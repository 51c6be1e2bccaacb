// The registry of open stores: one per location, shared by all users in the process.

package import ByteStore
package import DocumentStore
import Foundation
package import OfflineSync

/// The location of a database's documents.
package enum StoreAddress: Hashable, Sendable {
  case directory(String)
  /// A directory that is read beside its writer.
  case readOnly(String)
  /// A store in memory, which exists while it has users.
  case memory(UUID)
}

/// Opens stores on demand, and closes each one with its last user.
package final class AppStores: Sendable {
  package static let shared = AppStores()

  private let stores = Locked<[StoreAddress: SharedStore]>([:])
  private let opened = Locked<Set<String>>([])

  private init() {}

  /// Returns a use of the store at `place`. The first user's call opens the store, or creates it, with
  /// the other arguments. That call blocks while it replays the WAL, but calls for other locations
  /// do not wait for it.
  package func use(
    _ place: StoreAddress, _ durability: StoreDurability = .synced, instruments: (any Instruments)? = nil,
    memoryBudget: Int? = nil, environment: ClientEnvironment? = nil
  ) throws(DocumentStoreError) -> StoreUse {
    var options = DocumentStore.Options()
    options.durability = durability
    options.instruments = instruments
    options.memoryBudget = memoryBudget
    let store = environment.map { SharedStore(place, in: $0) } ?? store(place)
    let view = try store.join(options)
    if case .directory(let path) = place { opened.withLock { _ = $0.insert(path) } }
    return StoreUse(of: store, view: view)
  }

  /// Deletes the store at `place`. Returns false if this process is using the store, and throws `locked` if
  /// another process is using it.
  package func erase(_ place: StoreAddress) throws(DocumentStoreError) -> Bool {
    let isErased = try store(place).erase()
    if isErased, case .directory(let path) = place { opened.withLock { _ = $0.remove(path) } }
    return isErased
  }

  /// The directories of all stores that this process has opened and has not erased since.
  package var directories: Set<String> { opened.withLock { $0 } }

  private func store(_ place: StoreAddress) -> SharedStore {
    stores.withLock { stores in
      if let store = stores[place] { return store }
      let store = SharedStore(place)
      // A store in memory is not registered, because no other user can address it.
      if case .memory = place { return store }
      stores[place] = store
      return store
    }
  }
}

/// The store of one location, open while it has users.
private final class SharedStore: Sendable {
  private struct State {
    var view: LocalView?
    /// The client of the store's remote; nil if the store has no remote.
    var driver: SyncDriver?
    var users = 0
  }

  private let place: StoreAddress
  /// The environment of the store's only user in a simulation; nil outside a simulation.
  private let environment: ClientEnvironment?
  private let state = Locked(State())

  init(_ place: StoreAddress, in environment: ClientEnvironment? = nil) {
    self.place = place
    self.environment = environment
  }

  func join(_ options: DocumentStore.Options) throws(DocumentStoreError) -> LocalView {
    try state.withLock { state throws(DocumentStoreError) in
      let view: LocalView
      if let open = state.view {
        view = open
      } else {
        view = LocalView(over: try open(options))
      }
      state.view = view
      state.users += 1
      return view
    }
  }

  private func open(_ options: DocumentStore.Options) throws(DocumentStoreError) -> DocumentStore {
    var options = options
    if let environment {
      options.maintenance = .manual
      return try DocumentStore.open("/\(environment.name)", options: options, platform: environment.platform)
    }
    switch place {
    case .directory(let path): return try DocumentStore.open(path, options: options)
    case .readOnly(let path):
      options.isReadOnly = true
      return try DocumentStore.open(path, options: options)
    case .memory: return try DocumentStore.openInMemory(options: options)
    }
  }

  func leave() throws(DocumentStoreError) {
    try state.withLock { state throws(DocumentStoreError) in
      state.users -= 1
      guard state.users == 0, let view = state.view else { return }
      // The store is closed under this lock, so that the next user finds the location without a process lock.
      state.driver?.stop()
      state.driver = nil
      state.view = nil
      try view.close()
    }
  }

  var hasDriver: Bool { state.withLock { $0.driver != nil } }

  /// Returns the client of the store's remote. The first call creates the client with `make`.
  func driver(
    _ make: (DocumentStore, ClientEnvironment?) throws(DocumentStoreError) -> SyncDriver
  ) throws(DocumentStoreError) -> SyncDriver {
    try state.withLock { state throws(DocumentStoreError) in
      if let driver = state.driver { return driver }
      guard let view = state.view else { throw .failedPrecondition("The store is closed.") }
      let driver = try make(view.store, environment)
      state.driver = driver
      return driver
    }
  }

  func erase() throws(DocumentStoreError) -> Bool {
    try state.withLock { state throws(DocumentStoreError) in
      guard state.users == 0 else { return false }
      guard case .directory(let path) = place, FileManager.default.fileExists(atPath: path) else {
        return true
      }
      try checkUnlocked(path)
      // The directory is renamed first, so that after a crash either the whole database or nothing exists
      // under this name.
      let doomed = "\(path).erased-\(UUID().uuidString)"
      do {
        try FileManager.default.moveItem(atPath: path, toPath: doomed)
        try FileManager.default.removeItem(atPath: doomed)
      } catch {
        var evidence = StorageEvidence(message: "\(path) could not be deleted: \(error.localizedDescription)")
        evidence.file = path
        evidence.operation = "remove"
        throw .failed(evidence)
      }
      return true
    }
  }

  /// Throws `locked` if another process uses the store. Ignores all other errors, because a store that
  /// cannot be opened may be deleted.
  private func checkUnlocked(_ path: String) throws(DocumentStoreError) {
    var options = DocumentStore.Options()
    options.createsIfMissing = false
    do throws(DocumentStoreError) {
      try DocumentStore.open(path, options: options).close()
    } catch {
      if case .locked = error { throw error }
    }
  }
}

/// One user's reference to an open store.
package final class StoreUse: Sendable {
  package let view: LocalView
  private let store: SharedStore
  private let isActive = Locked(true)

  fileprivate init(of store: SharedStore, view: LocalView) {
    self.store = store
    self.view = view
  }

  deinit { try? end() }

  /// Whether a client of a remote runs over this store.
  package var hasDriver: Bool { store.hasDriver }

  /// Returns the client of a remote over this store. All users of the store share the client. The first call
  /// creates the client, and later calls do not change its options.
  package func attach(
    _ remote: any Remote, _ attachment: RemoteAttachment, collector: LocalStore.Collector,
    options: SyncEngine.Options
  ) throws(DocumentStoreError) -> SyncDriver {
    try store.driver { store, environment throws(DocumentStoreError) in
      guard let environment else {
        return try store.attach(remote, attachment, collector: collector, options: options)
      }
      let driver = try store.attach(
        remote, attachment, collector: collector, options: options, as: environment.identity)
      environment.attached(driver)
      return driver
    }
  }

  /// Ends this use. When the last use ends, the store is closed. Further calls have no effect.
  package func end() throws(DocumentStoreError) {
    let wasActive = isActive.withLock { isActive in
      defer { isActive = false }
      return isActive
    }
    if wasActive { try store.leave() }
  }
}

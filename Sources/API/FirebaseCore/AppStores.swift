// One open store per place, shared by everyone in the process who uses it.

package import DocumentStore
import Foundation
package import OfflineSync

/// Where the documents of a database are.
package enum StorePlace: Hashable, Sendable {
  case directory(String)
  /// In this process, for as long as somebody uses them.
  case memory(UUID)
}

/// Hands out stores and closes each with its last user.
package final class AppStores: Sendable {
  package static let shared = AppStores()

  private let stores = Guarded<[StorePlace: SharedStore]>([:])
  private let opened = Guarded<Set<String>>([])

  private init() {}

  /// A use of the store at `place`, which is opened, or made, for the first user. Opening reads the
  /// store's logs, and its first user decides on `durability`: not a call for a thread that must not wait. It makes no
  /// other place wait.
  package func use(
    _ place: StorePlace, _ durability: StoreDurability = .synced
  ) throws(DocumentStoreError) -> StoreUse {
    let store = store(place)
    let view = try store.join(durability)
    if case .directory(let path) = place { opened.withLock { _ = $0.insert(path) } }
    return StoreUse(of: store, view: view)
  }

  /// Deletes all that is at `place`; false if it is in use in this process. Throws `locked` if another one
  /// uses it.
  package func erase(_ place: StorePlace) throws(DocumentStoreError) -> Bool {
    let isErased = try store(place).erase()
    if isErased, case .directory(let path) = place { opened.withLock { _ = $0.remove(path) } }
    return isErased
  }

  /// The directories of the stores that were opened here, in this process, and not erased since.
  package var directories: Set<String> { opened.withLock { $0 } }

  private func store(_ place: StorePlace) -> SharedStore {
    stores.withLock { stores in
      if let store = stores[place] { return store }
      let store = SharedStore(place)
      // One in memory is nobody else's.
      if case .directory = place { stores[place] = store }
      return store
    }
  }
}

/// The store of one place, open while it has users.
private final class SharedStore: Sendable {
  private struct State {
    var view: LocalView?
    var users = 0
  }

  private let place: StorePlace
  private let state = Guarded(State())

  init(_ place: StorePlace) { self.place = place }

  func join(_ durability: StoreDurability) throws(DocumentStoreError) -> LocalView {
    try state.withLock { state throws(DocumentStoreError) in
      let view: LocalView
      if let open = state.view {
        view = open
      } else {
        view = LocalView(over: try open(durability))
      }
      state.view = view
      state.users += 1
      return view
    }
  }

  private func open(_ durability: StoreDurability) throws(DocumentStoreError) -> DocumentStore {
    var options = DocumentStore.Options()
    options.durability = durability
    switch place {
    case .directory(let path): return try DocumentStore.open(path, options: options)
    case .memory: return try DocumentStore.openInMemory(options: options)
    }
  }

  func leave() throws(DocumentStoreError) {
    try state.withLock { state throws(DocumentStoreError) in
      state.users -= 1
      guard state.users == 0, let view = state.view else { return }
      // Closed under the lock, so that the next opener of this place finds it free.
      state.view = nil
      try view.close()
    }
  }

  func erase() throws(DocumentStoreError) -> Bool {
    try state.withLock { state throws(DocumentStoreError) in
      guard state.users == 0 else { return false }
      guard case .directory(let path) = place, FileManager.default.fileExists(atPath: path) else {
        return true
      }
      try checkUnlocked(path)
      // Renamed first: what a crash leaves is the whole database under its name, or nothing there.
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

  /// Throws `locked` if another process has the store. That it cannot be opened for another reason is none to
  /// keep it.
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

/// One user's share of an open store.
package final class StoreUse: Sendable {
  package let view: LocalView
  private let store: SharedStore
  private let isActive = Guarded(true)

  fileprivate init(of store: SharedStore, view: LocalView) {
    self.store = store
    self.view = view
  }

  deinit { try? end() }

  /// Gives the share back; the last one closes the store. Further calls do nothing.
  package func end() throws(DocumentStoreError) {
    let wasActive = isActive.withLock { isActive in
      defer { isActive = false }
      return isActive
    }
    if wasActive { try store.leave() }
  }
}

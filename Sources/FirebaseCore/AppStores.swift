// One open store per directory, shared by everyone in the process who uses it.

package import DocumentStore
package import OfflineSync

/// Hands out stores and closes each with its last user.
package final class AppStores: Sendable {
  package static let shared = AppStores()

  private let stores = Guarded<[String: SharedStore]>([:])

  private init() {}

  /// A use of the store in `directory`, which is opened, or made, for the first user. Opening reads the
  /// store's logs: not a call for a thread that must not wait. It makes no other directory wait.
  package func use(_ directory: String) throws(DocumentStoreError) -> StoreUse {
    let store = stores.withLock { stores in
      if let store = stores[directory] { return store }
      let store = SharedStore(directory)
      stores[directory] = store
      return store
    }
    return StoreUse(of: store, view: try store.join())
  }
}

/// The store of one directory, open while it has users.
private final class SharedStore: Sendable {
  private struct State {
    var view: LocalView?
    var users = 0
  }

  private let directory: String
  private let state = Guarded(State())

  init(_ directory: String) { self.directory = directory }

  func join() throws(DocumentStoreError) -> LocalView {
    try state.withLock { state throws(DocumentStoreError) in
      let view: LocalView
      if let open = state.view {
        view = open
      } else {
        view = LocalView(over: try DocumentStore.open(directory))
      }
      state.view = view
      state.users += 1
      return view
    }
  }

  func leave() throws(DocumentStoreError) {
    try state.withLock { state throws(DocumentStoreError) in
      state.users -= 1
      guard state.users == 0, let view = state.view else { return }
      // Closed under the lock, so that the next opener of this directory finds it free.
      state.view = nil
      try view.close()
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

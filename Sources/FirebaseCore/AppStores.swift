// One open store per directory, shared by everyone in the process who uses it.

package import DocumentStore
package import OfflineSync

/// Hands out stores and closes each with its last user.
package final class AppStores: Sendable {
  package static let shared = AppStores()

  private struct Entry {
    var view: LocalView
    var users: Int
  }

  private let entries = Guarded<[String: Entry]>([:])

  private init() {}

  /// A use of the store in `directory`, which is opened, or made, for the first user.
  package func use(_ directory: String) throws(DocumentStoreError) -> StoreUse {
    try entries.withLock { entries throws(DocumentStoreError) in
      if let entry = entries[directory] {
        entries[directory] = Entry(view: entry.view, users: entry.users + 1)
        return StoreUse(directory: directory, view: entry.view)
      }
      let view = LocalView(over: try DocumentStore.open(directory))
      entries[directory] = Entry(view: view, users: 1)
      return StoreUse(directory: directory, view: view)
    }
  }

  fileprivate func end(_ use: StoreUse) throws(DocumentStoreError) {
    try entries.withLock { entries throws(DocumentStoreError) in
      guard let entry = entries[use.directory] else { return }
      guard entry.users == 1 else {
        entries[use.directory] = Entry(view: entry.view, users: entry.users - 1)
        return
      }
      // Closed under the lock, so that the next opener of this directory finds it free.
      entries[use.directory] = nil
      try entry.view.close()
    }
  }
}

/// One user's share of an open store.
package final class StoreUse: Sendable {
  package let directory: String
  package let view: LocalView
  private let isActive = Guarded(true)

  fileprivate init(directory: String, view: LocalView) {
    self.directory = directory
    self.view = view
  }

  deinit { try? end() }

  /// Gives the share back; the last one closes the store. Further calls do nothing.
  package func end() throws(DocumentStoreError) {
    let wasActive = isActive.withLock { isActive in
      defer { isActive = false }
      return isActive
    }
    if wasActive { try AppStores.shared.end(self) }
  }
}

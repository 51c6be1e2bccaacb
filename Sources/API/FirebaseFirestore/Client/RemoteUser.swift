// The user of a database with a remote, which follows the user of its app.
//
// Invariants:
// - A change of the user has a place in the order of the calls: it passes through the write queue. A write
//   that was issued before the change belongs to the previous user, and a later write to the new user. A read
//   that was issued after the change sees the documents of the new user.
// - Following does not open the database. A database that is opened later starts with the user of that time.
//
// A database whose app has no user of its own keeps the user of `changeUser(_:)`.

import ByteStore
import FirebaseCore
import OfflineSync

final class RemoteUser: Sendable {
  private struct State: Sendable {
    /// Nil until the app's user is set.
    var id: String??
    /// The driver of the open store.
    var driver: SyncDriver?
    var observation: AppUser.Observation?
  }

  private let state = Locked(State())

  /// Follows the user of the app until `end`. Called before the first operation of the store.
  func follow(_ user: AppUser, through store: ClientStore) {
    let observation = user.observe { [weak self, weak store] id in
      store?.issue { [weak self, weak store] number in
        let finish: @Sendable () -> Void = { [weak store] in store?.markFinished(number) }
        guard let self else { return finish() }
        change(to: id, done: finish)
      }
    }
    state.withLock { $0.observation = observation }
  }

  /// Called on the write queue when the store is opened.
  func attach(_ driver: SyncDriver) {
    let id = state.withLock { state in
      state.driver = driver
      return state.id
    }
    if let id { Self.change(driver, to: id) {} }
  }

  /// Called on the write queue.
  private func change(to id: String?, done: @escaping @Sendable () -> Void) {
    let driver = state.withLock { state in
      state.id = .some(id)
      return state.driver
    }
    guard let driver else { return done() }
    Self.change(driver, to: id, done: done)
  }

  /// A client that cannot change its user stops, because its documents show the writes of the previous user.
  private static func change(_ driver: SyncDriver, to id: String?, done: @escaping @Sendable () -> Void) {
    driver.send(.changeUser(id)) { [weak driver] error in
      if let error { driver?.fail(with: error) }
      done()
    }
  }

  func end() {
    let released = state.withLock { state in
      defer { state = State() }
      return state
    }
    withExtendedLifetime(released) {}
  }
}

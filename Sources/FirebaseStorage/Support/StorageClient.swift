// The buckets of an app at work: the store that they are in, and the transfers under way.
//
// Invariants:
//   - The store is opened by the first operation. If that fails, the call gets the error, and the next one tries again.
//   - Operations run one after the other on a queue; each transfer has a queue of its own.
//   - The store is given back once nothing runs any more, what cleans up included.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

package final class StorageClient: Sendable {
  let app: FirebaseApp
  private let place: StorePlace
  private let operations = DispatchQueue(label: "dugout.storage.operations")
  private let state = Guarded(State())
  /// Everything that uses the store.
  private let work = DispatchGroup()

  private struct State: Sendable {
    var use: StoreUse?
    var isClosed = false
    var isSweeping = false
    var transfers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  init(_ app: FirebaseApp) {
    self.app = app
    place = .directory(StoreLocation.directory(app: app, database: "(default)"))
  }

  // MARK: The store

  /// Blocks while the store is opened.
  func objects() throws(StorageError) -> ObjectStore {
    let (open, isClosed) = state.withLock { ($0.use, $0.isClosed) }
    if let open { return open.view.store.objects }
    guard !isClosed else { throw Self.closed }
    let use: StoreUse
    do throws(DocumentStoreError) {
      use = try AppStores.shared.use(place)
    } catch {
      throw StorageErrors.translate(error, "", "")
    }
    let other = state.withLock { state in
      if state.use == nil, !state.isClosed { state.use = use }
      return state.use
    }
    guard let other else {
      try? use.end()
      throw Self.closed
    }
    if other === use { begin(use) } else { try? use.end() }
    return other.view.store.objects
  }

  private static let closed = StorageError.unknown(
    message: "The app of this bucket was deleted.", serverError: [:])

  /// What a crash left, and what died before, is removed beside everything else.
  private func begin(_ use: StoreUse) {
    let store = use.view.store
    sweep(store) { objects throws(DocumentStoreError) in
      DownloadFile.removeLeftParts(objects)
      return try objects.sweep(store.recoveryReport.wasClosedCleanly ? .packs : .everything)
    }
  }

  /// Gives back what died in packs, beside everything else, once it is worth it.
  func sweepIfDue() {
    guard let store = state.withLock({ $0.use?.view.store }), store.objects.isSweepDue else { return }
    sweep(store) { objects throws(DocumentStoreError) in try objects.sweep(.packs) }
  }

  private func sweep(
    _ store: DocumentStore,
    _ body: @escaping @Sendable (ObjectStore) throws(DocumentStoreError) -> ObjectSweep
  ) {
    let mayBegin = state.withLock { state in
      guard !state.isClosed, !state.isSweeping else { return false }
      state.isSweeping = true
      work.enter()
      return true
    }
    guard mayBegin else { return }
    DispatchQueue.global(qos: .utility).async { [self] in
      // What fails now is there for the next sweep.
      _ = try? body(store.objects)
      state.withLock { $0.isSweeping = false }
      // What has died meanwhile.
      sweepIfDue()
      work.leave()
    }
  }

  /// Ends the transfers, waits for what is under way, and gives the store back.
  func close() {
    let transfers = state.withLock { state in
      state.isClosed = true
      return Array(state.transfers.values)
    }
    for end in transfers { end() }
    operations.sync {}
    work.wait()
    let use = state.withLock { state in
      defer { state.use = nil }
      return state.use
    }
    try? use?.end()
  }

  // MARK: Work

  /// Runs `body` on the queue of the operations.
  func perform(_ body: @escaping @Sendable () -> Void) {
    operations.async { [self] in
      body()
      sweepIfDue()
    }
  }

  /// Runs `body` on a queue; closing waits for it.
  func work(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    work.enter()
    queue.async { [work] in
      body()
      work.leave()
    }
  }

  /// Has `body` counted as work on the store: false, and not run, once the client is closed.
  func doing(_ body: () -> Void) -> Bool {
    let mayBegin = state.withLock { state in
      if !state.isClosed { work.enter() }
      return !state.isClosed
    }
    guard mayBegin else { return false }
    body()
    sweepIfDue()
    work.leave()
    return true
  }

  /// `end` is called when the client is closed before `forget`.
  func remember(_ transfer: AnyObject, end: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.transfers[ObjectIdentifier(transfer)] = end
      return state.isClosed
    }
    if isLate { end() }
  }

  func forget(_ transfer: AnyObject) {
    state.withLock { $0.transfers[ObjectIdentifier(transfer)] = nil }
  }
}

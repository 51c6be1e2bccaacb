// The store of an app's buckets, and the transfers in progress.
//
// Invariants:
// - The first operation opens the store. If opening fails, the operation fails with that error, and the next
//   operation opens the store again.
// - Operations run one at a time on a queue. Operations that may send a request to a remote run on a second
//   queue. Each transfer has a queue of its own. The store is released when no more work uses it. Cleanup
//   counts as work.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore

package final class StorageClient: Sendable {
  let app: FirebaseApp
  private let place: StoreAddress
  private let operations = DispatchQueue(label: "dugout.storage.operations")
  private let remoteOperations = DispatchQueue(label: "dugout.storage.operations.remote")
  /// Locked while the store is opened.
  private let opening = Locked(0)
  private let state = Locked(State())
  /// The group of all work that uses the store.
  private let work = DispatchGroup()
  /// The group of all cleanup after cancelled transfers. Cleanup removes the partial data of a transfer or
  /// passes the data to the sync.
  private let cleaning = DispatchGroup()
  /// How long closing waits for cleanup before it stops the sync. Cleanup does not depend on any other work.
  /// The limit exists because a slow disk must not delay the stop.
  static let cleaningSeconds = 5.0

  private struct State: Sendable {
    var use: StoreUse?
    var settings = RemoteSettings() {
      didSet { backend = settings.makeBackend() }
    }
    /// Attached to the store while the store is open.
    var backend: any StorageBackend = RemoteSettings().makeBackend()
    var isClosed = false
    var isSweeping = false
    /// Called after each sweep.
    var afterSweep: (@Sendable () -> Void)?
    var transfers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  init(_ app: FirebaseApp) {
    self.app = app
    place = .directory(StoreLocation.directory(app: app, database: "(default)"))
  }

  // MARK: The store

  /// Returns the objects of the store. Blocks while the store is opened.
  func objects() throws(StorageError) -> ObjectStore {
    if let open = state.withLock({ $0.use }) { return open.view.store.objects }
    return try opening.withLock { _ throws(StorageError) in try open() }
  }

  private func open() throws(StorageError) -> ObjectStore {
    let (open, backend, isClosed) = state.withLock { ($0.use, $0.backend, $0.isClosed) }
    if let open { return open.view.store.objects }
    guard !isClosed else { throw StorageErrors.closed }
    do throws(DocumentStoreError) {
      let use = try AppStores.shared.use(place)
      do throws(DocumentStoreError) { try backend.attach(to: use.view.store.objects) } catch {
        try? use.end()
        throw error
      }
      let isInTime = state.withLock { state in
        guard !state.isClosed else { return false }
        (state.use, state.backend) = (use, backend)
        return true
      }
      guard isInTime else {
        backend.stop()
        backend.detach()
        try? use.end()
        throw .closed(StorageEvidence(message: StorageErrors.closed.localizedDescription))
      }
      begin(use)
      return use.view.store.objects
    } catch {
      throw StorageErrors.translate(error, "", object: "")
    }
  }

  // MARK: The remote

  /// Executes the operations on the objects.
  var backend: any StorageBackend { state.withLock { $0.backend } }

  var settings: RemoteSettings { state.withLock { $0.settings } }

  /// Changes the settings. If the store is already open, changes nothing and returns false.
  func changeSettings(_ change: (inout RemoteSettings) -> Void) -> Bool {
    state.withLock { state in
      if state.use == nil { change(&state.settings) }
      return state.use == nil
    }
  }

  // MARK: Maintenance

  /// Removes leftovers of a crash and unreferenced contents, in the background.
  private func begin(_ use: StoreUse) {
    let store = use.view.store
    sweep(store) { objects throws(DocumentStoreError) in
      DownloadFile.removeLeftParts(objects)
      return try objects.sweep(store.recoveryReport.wasClosedCleanly ? .packs : .everything)
    }
  }

  /// Starts a sweep of unreferenced contents in packs if enough of them have accumulated. The sweep runs in
  /// the background.
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
      // After a failure, the next operation starts another sweep. An immediate retry would fail again.
      let isSwept = (try? body(store.objects)) != nil
      let afterSweep = state.withLock { state in
        state.isSweeping = false
        return state.afterSweep
      }
      afterSweep?()
      // More contents may have become unreferenced during the sweep.
      if isSwept { sweepIfDue() }
      work.leave()
    }
  }

  /// Calls `body` after each later sweep, on any thread.
  func afterEachSweep(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.afterSweep = body } }

  /// Ends the transfers, waits for work in progress, and releases the store.
  func close(cleaningSeconds: Double = StorageClient.cleaningSeconds) {
    let transfers = state.withLock { state in
      state.isClosed = true
      return Array(state.transfers.values)
    }
    for end in transfers { end() }
    // Wait for the cleanup of cancelled transfers, so that closing does not leave data from which they would
    // resume.
    _ = cleaning.wait(timeout: .now() + cleaningSeconds)
    let backend = backend
    // Callers that wait for the remote get an error.
    backend.stop()
    operations.sync {}
    remoteOperations.sync {}
    work.wait()
    let use = state.withLock { state in
      defer { state.use = nil }
      return state.use
    }
    backend.detach()
    try? use?.end()
  }

  // MARK: Work

  /// Runs `body` on the queue of operations. If `body` asks the remote and there is one, runs it on the queue
  /// of operations that may wait for a remote.
  func perform(askingRemote: Bool = false, _ body: @escaping @Sendable () -> Void) {
    (askingRemote && backend.asksRemote ? remoteOperations : operations).async { [self] in
      body()
      sweepIfDue()
    }
  }

  /// Runs `body` on a queue. Closing waits until `body` has returned.
  func work(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    work.enter()
    queue.async { [work] in
      body()
      work.leave()
    }
  }

  /// Runs cleanup of a transfer on a queue. Closing waits for the cleanup for a limited time before it stops
  /// the sync.
  func runCleanup(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    cleaning.enter()
    work(on: queue) { [cleaning] in
      body()
      cleaning.leave()
    }
  }

  /// Runs `body` and counts it as work on the store. If the client is closed, returns false and does not run
  /// `body`.
  func performIfOpen(_ body: () -> Void) -> Bool {
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

  /// Registers `end`, which is called when the client is closed, unless `unregister` was called before.
  func register(_ transfer: AnyObject, end: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.transfers[ObjectIdentifier(transfer)] = end
      return state.isClosed
    }
    if isLate { end() }
  }

  func unregister(_ transfer: AnyObject) {
    state.withLock { $0.transfers[ObjectIdentifier(transfer)] = nil }
  }
}

// The store of an app's buckets, and the transfers in progress.
//
// Invariants:
// - The first operation opens the store. If that fails, the operation gets the error, and the next one tries
//   again.
// - Operations run one after the other on a queue. Operations that ask a remote run on a second queue. Each
//   transfer has a queue of its own.
// The store is released once no work, including cleanup, uses it.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

package final class StorageClient: Sendable {
  let app: FirebaseApp
  private let place: StoreAddress
  private let operations = DispatchQueue(label: "dugout.storage.operations")
  private let remoteOperations = DispatchQueue(label: "dugout.storage.operations.remote")
  /// Held while the store is opened.
  private let opening = Locked(0)
  private let state = Locked(State())
  /// All work that uses the store.
  private let work = DispatchGroup()
  /// Cleanup after cancelled transfers: it removes their partial data or hands it to the sync.
  private let cleaning = DispatchGroup()
  /// How long closing waits for cleanup. Cleanup waits for no other work, and a slow disk must not prevent
  /// closing.
  static let cleaningSeconds = 5.0

  private struct State: Sendable {
    var use: StoreUse?
    var remote = RemoteSettings()
    var sync: BlobSync?
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
    if let open = state.withLock({ $0.use }) { return open.view.store.objects }
    return try opening.withLock { _ throws(StorageError) in try open() }
  }

  private func open() throws(StorageError) -> ObjectStore {
    let (open, remote, isClosed) = state.withLock { ($0.use, $0.remote, $0.isClosed) }
    if let open { return open.view.store.objects }
    guard !isClosed else { throw StorageErrors.closed }
    do throws(DocumentStoreError) {
      let use = try AppStores.shared.use(place)
      let sync: BlobSync?
      do throws(DocumentStoreError) { sync = try remote.attach(to: use.view.store.objects) } catch {
        try? use.end()
        throw error
      }
      let isInTime = state.withLock { state in
        guard !state.isClosed else { return false }
        (state.use, state.sync) = (use, sync)
        return true
      }
      guard isInTime else {
        Self.stop(sync)
        try? use.end()
        throw .closed(StorageEvidence(message: StorageErrors.closed.localizedDescription))
      }
      begin(use)
      return use.view.store.objects
    } catch {
      throw StorageErrors.translate(error, "", "")
    }
  }

  // MARK: The remote

  /// The sync; nil before the store is open and without a remote.
  var sync: BlobSync? { state.withLock { $0.sync } }

  /// Whether a change completes only when the remote has it.
  var waitsForRemote: Bool { state.withLock { $0.sync != nil && $0.remote.acknowledgement == .server } }

  var remote: RemoteSettings { state.withLock { $0.remote } }

  /// Changes the settings. Returns false once the store is open, when it is too late.
  func setRemote(_ change: (inout RemoteSettings) -> Void) -> Bool {
    state.withLock { state in
      if state.use == nil { change(&state.remote) }
      return state.use == nil
    }
  }

  private static func stop(_ sync: BlobSync?) {
    guard let sync else { return }
    let isStopped = DispatchSemaphore(value: 0)
    sync.stop { isStopped.signal() }
    isStopped.wait()
  }

  // MARK: Maintenance

  /// Removes the remains of a crash and dead contents, in the background.
  private func begin(_ use: StoreUse) {
    let store = use.view.store
    sweep(store) { objects throws(DocumentStoreError) in
      DownloadFile.removeLeftParts(objects)
      return try objects.sweep(store.recoveryReport.wasClosedCleanly ? .packs : .everything)
    }
  }

  /// Starts a sweep of dead contents in packs, in the background, once it is worth it.
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
      // After a failure, the next operation starts the next sweep. A retry at once would fail again.
      let isSwept = (try? body(store.objects)) != nil
      state.withLock { $0.isSweeping = false }
      // Contents may have died during the sweep.
      if isSwept { sweepIfDue() }
      work.leave()
    }
  }

  /// Ends the transfers, waits for work in progress, and releases the store.
  func close(cleaningSeconds: Double = StorageClient.cleaningSeconds) {
    let transfers = state.withLock { state in
      state.isClosed = true
      return Array(state.transfers.values)
    }
    for end in transfers { end() }
    // Transfers that were cancelled before must not resume because of the end.
    _ = cleaning.wait(timeout: .now() + cleaningSeconds)
    // Callers that wait for the remote get an error.
    Self.stop(sync)
    operations.sync {}
    remoteOperations.sync {}
    work.wait()
    let use = state.withLock { state in
      defer { (state.use, state.sync) = (nil, nil) }
      return state.use
    }
    try? use?.end()
  }

  // MARK: Work

  /// Runs `body` on the queue of operations, or on the queue of operations that may wait for a remote.
  func perform(askingRemote: Bool = false, _ body: @escaping @Sendable () -> Void) {
    (askingRemote ? remoteOperations : operations).async { [self] in
      body()
      sweepIfDue()
    }
  }

  /// Runs `body` on a queue. Closing waits for it.
  func work(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    work.enter()
    queue.async { [work] in
      body()
      work.leave()
    }
  }

  /// Runs cleanup of a transfer on a queue. Closing waits for it for a limited time.
  func clean(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    cleaning.enter()
    work(on: queue) { [cleaning] in
      body()
      cleaning.leave()
    }
  }

  /// Runs `body` and counts it as work on the store. Once the client is closed, returns false without
  /// running it.
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

  /// Registers `end`, which is called if the client is closed before `forget`.
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

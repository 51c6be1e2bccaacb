// The buckets of an app at work: the store that they are in, and the transfers under way.
//
// Invariants:
//   - The store is opened by the first operation. If that fails, the call gets the error, and the next one tries again.
//   - Operations run one after the other on a queue, those that ask a remote on another; each transfer has a queue of
//     its own.
//   - The store is given back once nothing runs any more, what cleans up included.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
package import ObjectStore
import ObjectSync
import OfflineSync

package final class StorageClient: Sendable {
  let app: FirebaseApp
  private let place: StorePlace
  private let operations = DispatchQueue(label: "dugout.storage.operations")
  private let remoteOperations = DispatchQueue(label: "dugout.storage.operations.remote")
  /// Held while the store is opened.
  private let opening = Guarded(0)
  private let state = Guarded(State())
  /// Everything that uses the store.
  private let work = DispatchGroup()
  /// What removes the rest of transfers that were cancelled, or hands that to what syncs.
  private let cleaning = DispatchGroup()
  /// It waits for nobody; that it waits for the disk for longer is no reason not to close.
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

  /// Once the store is open, with a remote.
  var sync: BlobSync? { state.withLock { $0.sync } }

  /// A change counts as done when the remote has it.
  var waitsForRemote: Bool { state.withLock { $0.sync != nil && $0.remote.acknowledgement == .server } }

  var remote: RemoteSettings { state.withLock { $0.remote } }

  /// False once the store is open: then it is too late.
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

  // MARK: Upkeep

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
      // What fails now is there for the next sweep, which somebody else has to ask for: it would fail again.
      let isSwept = (try? body(store.objects)) != nil
      state.withLock { $0.isSweeping = false }
      // What has died meanwhile.
      if isSwept { sweepIfDue() }
      work.leave()
    }
  }

  /// Ends the transfers, waits for what is under way, and gives the store back.
  func close(cleaningSeconds: Double = StorageClient.cleaningSeconds) {
    let transfers = state.withLock { state in
      state.isClosed = true
      return Array(state.transfers.values)
    }
    for end in transfers { end() }
    // What was cancelled before must not go on because of the end.
    _ = cleaning.wait(timeout: .now() + cleaningSeconds)
    // Whoever waits for the remote is told that it is over.
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

  /// Runs `body` on the queue of the operations, or of those that may have to wait for a remote.
  func perform(askingRemote: Bool = false, _ body: @escaping @Sendable () -> Void) {
    (askingRemote ? remoteOperations : operations).async { [self] in
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

  /// The same for what removes the rest of a transfer.
  func clean(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    cleaning.enter()
    work(on: queue) { [cleaning] in
      body()
      cleaning.leave()
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

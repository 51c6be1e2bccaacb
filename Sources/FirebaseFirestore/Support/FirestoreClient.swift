// A database at work: its store, and the writes under way.
//
// Invariants:
//   - The store is opened on the queue of the writes, by the first of them or by a read that finds none.
//     If that fails, the call gets the error, and the next one tries again.
//   - Writes reach the store in the order of the calls. Each takes its place there without waiting for the one
//     before it: those that are issued together share a sync.
//   - A read waits for the writes that were issued before it, and for no other.

package import DocumentStore
import FirebaseCore
import Foundation
package import OfflineSync

package final class FirestoreClient: Sendable {
  private let place: StorePlace
  private let durability: StoreDurability
  /// With one, the engine's driver does what the store does without.
  let remote: ClientRemote?
  private let queue = DispatchQueue(label: "dugout.firestore.writes")
  /// Where writes that have their place are waited for, in the same order.
  private let finishing = DispatchQueue(label: "dugout.firestore.writes.finishing")
  /// Where what is finished is told, and listeners are taken up, in the order of the calls. Taking one up may have
  /// to make an index, which waits for writes: so it happens on neither of the queues above.
  private let acknowledging = DispatchQueue(label: "dugout.firestore.acknowledging")
  /// Where reads have their indexes made, one after the other.
  private let preparing = DispatchQueue(label: "dugout.firestore.indexes")
  private let state = Guarded(State())

  private struct State {
    var use: StoreUse?
    var driver: SyncDriver?
    /// Of the acknowledging queue.
    var acknowledgements = 0
    var listeners: [ObjectIdentifier: Listening] = [:]
    var onSync: [ObjectIdentifier: SyncCall] = [:]
    var isAnnouncingSync = false
    var issued: UInt64 = 0
    var finished: UInt64 = 0
    /// Reads that wait until the write with this number has finished.
    var waiting: [(write: UInt64, resume: @Sendable () -> Void)] = []
  }

  init(place: StorePlace, durability: StoreDurability, remote: ClientRemote? = nil) {
    self.place = place
    self.durability = durability
    self.remote = remote
  }

  // MARK: The store

  /// Only on the queue.
  private func openStore() throws(DocumentStoreError) -> LocalView {
    if let use = state.withLock({ $0.use }) { return use.view }
    let use = try AppStores.shared.use(place, durability)
    do throws(DocumentStoreError) {
      guard let remote else {
        try use.view.checkIsOwn()
        state.withLock { $0.use = use }
        return use.view
      }
      let driver = try use.view.attach(
        remote.remote, as: nil, remote.attachment, remote.collector, remote.options)
      state.withLock { state in
        state.use = use
        state.driver = driver
      }
      return use.view
    } catch {
      try? use.end()
      throw error
    }
  }

  /// Only on the queue. The store of a client of a remote is open with its driver, or not at all.
  private func openedDriver(_ remote: ClientRemote) throws(DocumentStoreError) -> SyncDriver {
    let view = try openStore()
    guard let driver = openDriver ?? view.driver else { preconditionFailure("a remote has a driver") }
    return driver
  }

  var openDriver: SyncDriver? { state.withLock { $0.driver } }

  /// Nil without a remote.
  nonisolated(nonsending) func openedDriver() async throws -> SyncDriver? {
    guard remote != nil else { return nil }
    if let driver = openDriver { return driver }
    _ = try await openedStore()
    return openDriver
  }

  /// Opens the store before anybody asks for it. Blocks.
  func open() throws {
    let result = queue.sync { Result { () throws(DocumentStoreError) in try openStore() } }
    _ = try result.mapError(FirestoreErrors.translate).get()
  }

  /// Waits for the writes under way, then gives the store back.
  func close() {
    let listeners = state.withLock { state in
      defer {
        state.listeners = [:]
        state.onSync = [:]
      }
      return state.listeners.values
    }
    for listener in listeners { listener.stop() }
    queue.sync {
      finishing.sync {}
      acknowledging.sync {}
      let use = state.withLock { state in
        defer {
          state.use = nil
          state.driver = nil
        }
        return state.use
      }
      try? use?.end()
    }
  }

  // MARK: Writing

  /// Enqueues the writes and returns. `finished` is told their outcome on a queue of ours.
  package func write(
    _ mutations: [Mutation], finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    state.withLock { state in
      state.issued += 1
      let number = state.issued
      // Under the lock, so that the queue's order is the order of the numbers.
      queue.async { [self] in
        if let remote { return send(mutations, number, remote, finished) }
        let begun = Result { () throws(DocumentStoreError) in
          let view = try openStore()
          return (view, try view.begin(mutations))
        }
        finishing.async { [self] in
          let result = Result { () throws(DocumentStoreError) in
            let (view, write) = try begun.get()
            _ = try view.finish(write)
          }
          markFinished(number)
          acknowledge { finished(result.mapError(FirestoreErrors.translate)) }
        }
      }
    }
  }

  /// Only on the queue.
  private func send(
    _ mutations: [Mutation], _ number: UInt64, _ remote: ClientRemote,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    do throws(DocumentStoreError) {
      let driver = try openedDriver(remote)
      // Whoever waits for it looks at the store, where it is once the driver has taken it up.
      write(
        mutations, through: driver, remote.acknowledgement, taken: { [self] in markFinished(number) },
        finished)
    } catch {
      finishing.async { [self] in
        markFinished(number)
        finished(.failure(FirestoreErrors.translate(error)))
      }
    }
  }

  /// Has `body` run with the driver behind everything that was issued before, and before what is issued later. It must
  /// not wait. Never called without a remote.
  func inOrderOfDriver(_ body: @escaping @Sendable (Result<SyncDriver, any Error>) -> Void) {
    queue.async { [self] in
      guard let remote else { return }
      let driver = Result { () throws(DocumentStoreError) in try openedDriver(remote) }
      body(driver.mapError(FirestoreErrors.translate))
    }
  }

  // MARK: Order

  /// Only on the finishing queue. What waits there comes first; if nothing does, there is no reason to change
  /// threads.
  private func acknowledge(_ body: @escaping @Sendable () -> Void) {
    guard state.withLock({ $0.acknowledgements > 0 }) else { return body() }
    enqueueAcknowledgement(body)
  }

  private func enqueueAcknowledgement(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.acknowledgements += 1 }
    acknowledging.async { [self] in
      body()
      state.withLock { $0.acknowledgements -= 1 }
    }
  }

  /// Runs `body` after the writes that were issued before, and before later ones are acknowledged.
  func inOrder(_ body: @escaping @Sendable (Result<LocalView, DocumentStoreError>) -> Void) {
    queue.async { [self] in
      let view = Result { () throws(DocumentStoreError) in try openStore() }
      finishing.async { [self] in enqueueAcknowledgement { body(view) } }
    }
  }

  // MARK: Listeners

  func remember(_ listening: Listening, onSync: SyncCall? = nil) {
    state.withLock { state in
      state.listeners[ObjectIdentifier(listening)] = listening
      state.onSync[ObjectIdentifier(listening)] = onSync
    }
  }

  func forget(_ listening: Listening) {
    state.withLock { state in
      state.listeners[ObjectIdentifier(listening)] = nil
      state.onSync[ObjectIdentifier(listening)] = nil
    }
  }

  /// Where to announce; nil if an announcement that has not begun will do, or nobody listens to any.
  func beginAnnouncement() -> DispatchQueue? {
    state.withLock { state in
      guard let first = state.onSync.values.first, !state.isAnnouncingSync else { return nil }
      state.isAnnouncingSync = true
      return first.queue
    }
  }

  /// Whom to tell.
  func endAnnouncement() -> [SyncCall] {
    state.withLock { state in
      state.isAnnouncingSync = false
      return Array(state.onSync.values)
    }
  }

  var openView: LocalView? { state.withLock { $0.use?.view } }

  // MARK: Other work

  /// Has `body` run on the queue of the writes, unless the store cannot be opened.
  func perform(_ body: @escaping @Sendable (LocalView) -> Void) {
    queue.async { [self] in
      if let view = try? openStore() { body(view) }
    }
  }

  /// Runs what takes its time beside the writes, on a thread that may wait.
  nonisolated(nonsending) func performed<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: .global(), body)
  }

  /// Runs a read that has an index made first. Those that wait for one take one thread together, and not the caller's,
  /// which may be that of a user interface.
  nonisolated(nonsending) private func prepared<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await performed(on: preparing, body)
  }

  nonisolated(nonsending) private func performed<Value: Sendable>(
    on queue: DispatchQueue, _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    let view = try await openedStore()
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        let result = Result { () throws(DocumentStoreError) in try body(view) }
        continuation.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
  }

  private func markFinished(_ number: UInt64) {
    let ready = state.withLock { state in
      // One that failed at once may be told behind a later one.
      state.finished = max(state.finished, number)
      let split = state.waiting.partition { $0.write <= number }
      defer { state.waiting.removeSubrange(split...) }
      return state.waiting[split...].map(\.resume)
    }
    for resume in ready { resume() }
  }

  // MARK: Reading

  /// The number of the last write that was issued; what a read that begins now has to see.
  package var lastIssuedWrite: UInt64 { state.withLock { $0.issued } }

  nonisolated(nonsending) package func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument {
    if remote != nil {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await document(at: path, source: source, through: driver)
      }
    }
    return try await read(after: write) { view throws(DocumentStoreError) in
      try view.document(at: path, source: source)
    }
  }

  nonisolated(nonsending) package func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments {
    if remote != nil {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await documents(query, source: source, through: driver)
      }
    }
    let ready = try await read(after: write) { view throws(DocumentStoreError) in
      try view.readyDocuments(query, source: source)
    }
    if let ready { return ready }
    return try await prepared { view throws(DocumentStoreError) in try view.documents(query, source: source) }
  }

  nonisolated(nonsending) package func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: AggregateSource, after write: UInt64
  ) async throws -> [StoredValue] {
    if source == .server, let remote {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await aggregate(aggregates, over: query, at: remote, through: driver)
      }
    }
    let ready = try await read(after: write) { view throws(DocumentStoreError) in
      try view.readyAggregate(aggregates, over: query)
    }
    if let ready { return ready }
    return try await prepared { view throws(DocumentStoreError) in
      try view.aggregate(aggregates, over: query)
    }
  }

  /// Reads on the caller's thread if the writes up to `write` have finished, else when they have.
  nonisolated(nonsending) private func read<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await wait(for: write)
    let view: LocalView
    if let use = state.withLock({ $0.use }) { view = use.view } else { view = try await openedStore() }
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  /// Until the writes up to this one have finished, well or not.
  nonisolated(nonsending) func wait(for write: UInt64) async {
    guard state.withLock({ $0.finished < write }) else { return }
    await withCheckedContinuation { continuation in resume(after: write) { continuation.resume() } }
  }

  func resume(after write: UInt64, _ body: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      if state.finished < write { state.waiting.append((write, body)) }
      return state.finished >= write
    }
    if isDone { body() }
  }

  /// Reads while the caller's thread waits for the writes up to `write`.
  func readNow<Value>(
    after write: UInt64, _ body: (LocalView) throws(DocumentStoreError) -> Value
  ) throws -> Value {
    if state.withLock({ $0.finished < write }) {
      let finished = DispatchSemaphore(value: 0)
      resume(after: write) { finished.signal() }
      finished.wait()
    }
    let view: LocalView
    if let use = state.withLock({ $0.use }) {
      view = use.view
    } else {
      view = try queue.sync { Result { () throws(DocumentStoreError) in try openStore() } }
        .mapError(FirestoreErrors.translate).get()
    }
    do throws(DocumentStoreError) { return try body(view) } catch { throw FirestoreErrors.translate(error) }
  }

  nonisolated(nonsending) private func openedStore() async throws -> LocalView {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        let result = Result { () throws(DocumentStoreError) in try openStore() }
        continuation.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
  }
}

// A client of a server: a store, which is in memory unless a test names a directory, with a remote.

import ByteStore
import DocumentStore
import FirestoreWire
import Foundation
import HTTPClient
import OfflineSync

@testable import FirestoreRemote

final class Phone: Sendable {
  let remote: FirestoreRemote
  private let driver: SyncDriver
  private let snapshots = Locked<[ViewSnapshot]>([])
  private let failures = Locked<[OfflineSyncError]>([])

  /// A client that listens to a collection.
  init(
    _ port: Int, user: String? = nil, listeningTo collection: String = "rooms",
    _ change: (inout FirestoreRemoteOptions) -> Void = { _ in }
  ) throws {
    var options = Self.options("127.0.0.1:\(port)")
    change(&options)
    remote = FirestoreRemote(options)
    driver = try DocumentStore.openInMemory().attach(remote, user: user)
    try listen(to: collection)
  }

  /// A client that makes its requests by this transport. With a directory, its store is there.
  init(
    over transport: any WebTransport, _ host: String, _ network: any NetworkMonitor,
    in directory: String? = nil
  ) throws {
    let options = Self.options(host)
    let scheduler = QueueScheduler(label: "dugout.tests.remote")
    let channels = WebChannels(transport, database: options.name.text, scheduler: scheduler)
    remote = FirestoreRemote(options, transport: transport, channels: channels, on: scheduler)
    var engine = SyncEngine.Options()
    engine.networkMonitor = network
    let store =
      if let directory { try DocumentStore.open(directory) } else { try DocumentStore.openInMemory() }
    driver = try store.attach(remote, options: engine)
    try listen(to: "rooms")
  }

  private func listen(to collection: String) throws {
    let query = StructuredQuery(.collection(try CollectionPath([collection])))
    _ = driver.listen(to: query, ListenRules(includesMetadataChanges: true)) { [snapshots, failures] result in
      switch result {
      case .success(let snapshot): snapshots.withLock { $0.append(snapshot) }
      case .failure(let error): failures.withLock { $0.append(error) }
      }
      snapshots.wakeAll()
    }
  }

  static func options(_ host: String) -> FirestoreRemoteOptions {
    var options = FirestoreRemoteOptions(project: "demo-channel")
    options.host = host
    options.isSSLEnabled = false
    return options
  }

  func stop() { driver.stop() }

  /// Stops the client, and closes its store, which another client can open then.
  func close() throws {
    driver.stop()
    try driver.store.close()
  }

  func setOnline(_ isOnline: Bool) { driver.send(isOnline ? .enableNetwork : .disableNetwork) }

  /// Adds a number to a field of a document, which is created if there is none. The result is for waiting.
  @discardableResult
  func add(_ amount: Int64, to path: String) throws -> PhoneWait {
    let field = try StoredFieldPath(["n"])
    let increment = FieldTransform(field, .increment(.integer(amount)))
    return write(.patch(DocumentPath(path), StoredMap(), mask: FieldMask([]), transforms: [increment]))
  }

  @discardableResult
  func write(_ mutations: Mutation...) -> PhoneWait {
    let wait = PhoneWait()
    driver.write(mutations, .server) { wait.end($0) }
    return wait
  }

  /// All snapshots that the listener has received.
  var received: [ViewSnapshot] { snapshots.withLock { $0 } }

  /// The number of writes in the outbox. All events that came before this call are processed then.
  var pendingCount: Int {
    get throws { try driver.inspectNow { $0.progress.pendingCount } }
  }

  /// Waits until the listener has a snapshot for which the condition holds.
  @discardableResult
  func wait(until condition: (ViewSnapshot) -> Bool) -> ViewSnapshot? {
    snapshots.withLock(when: { $0.last.map(condition) ?? false }) { $0.last }
  }

  /// Waits until the listener has this number in a document, confirmed by the server.
  func wait(for number: Int64, at path: String) {
    _ = wait { snapshot in
      !snapshot.isFromCache
        && snapshot.documents.contains {
          $0.path == DocumentPath(path) && $0.fields["n"] == .integer(number)
        }
    }
  }
}

/// The result of a write.
final class PhoneWait: Sendable {
  private let result = Locked<OfflineSyncError??>(nil)

  func end(_ error: OfflineSyncError?) {
    result.withLock { $0 = .some(error) }
    result.wakeAll()
  }

  /// Waits for the server's answer; nil if the write was accepted.
  func error() -> OfflineSyncError? { result.withLock(when: { $0 != nil }) { $0 ?? nil } }
}

/// Begins a call, and waits for its answer.
func answer<Value: Sendable>(_ begin: (@escaping @Sendable (Value) -> Void) -> Void) -> Value {
  let result = Locked<Value?>(nil)
  begin { value in
    result.withLock { $0 = value }
    result.wakeAll()
  }
  return result.withLock(when: { $0 != nil }) { $0! }
}

/// Runs a test that waits on a thread of its own.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
    Thread.detachNewThread { ended.resume(with: Result(catching: body)) }
  }
}

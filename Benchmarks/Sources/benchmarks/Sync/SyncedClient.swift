// A client of the server, as an app has it: a database on disk with a remote.

#if Server
import FirebaseFirestore
import FirestoreRemote
import Foundation

/// A database whose remote is a server of this machine. Used on one thread, which waits.
final class SyncedClient: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the condition protects the snapshot, and one thread uses all else.
  private static let secondsMax = 600.0

  private let firestore: Firestore
  private let condition = NSCondition()
  private var snapshot: QuerySnapshot?
  private var registration: (any ListenerRegistration)?

  init(_ directory: String, port: Int) throws {
    var options = FirestoreRemoteOptions(project: FirestoreMessages.project)
    options.host = "127.0.0.1:\(port)"
    options.isSSLEnabled = false
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.acknowledgement = .local
    settings.remote = FirestoreRemote(options)
    firestore = try Firestore.open(at: URL(fileURLWithPath: directory), settings: settings)
  }

  func close() throws {
    registration?.remove()
    try wait { firestore.terminate(completion: $0) }
  }

  // MARK: Documents

  /// Listens to a collection at the top.
  func listen(to collection: String) {
    registration = firestore.collection(collection).addSnapshotListener(includeMetadataChanges: true) {
      [self] snapshot, error in
      if let error { Progress.say("a listener ends: \(error)") }
      condition.withLock {
        self.snapshot = snapshot
        condition.broadcast()
      }
    }
  }

  /// Waits for a snapshot that the server has confirmed, or for one of the cache alone.
  @discardableResult
  func snapshot(isFromCache: Bool) throws -> QuerySnapshot {
    let end = Date().addingTimeInterval(Self.secondsMax)
    return try condition.withLock {
      while true {
        if let snapshot, snapshot.metadata.isFromCache == isFromCache { return snapshot }
        guard condition.wait(until: end) else { throw BenchmarkFailure("a client gets no snapshot") }
      }
    }
  }

  /// Writes documents, each by itself, and waits until the queue has all of them.
  func queue(_ paths: [String], mark: String) throws {
    let fields = FirestoreMessages.fields(mark)
    let queued = DispatchSemaphore(value: 0)
    for path in paths {
      firestore.document(path).setData(fields) { error in
        if let error { Progress.say("a write is not queued: \(error)") }
        queued.signal()
      }
    }
    for _ in paths { try wait(for: queued) }
  }

  func waitForPendingWrites() throws { try wait { firestore.waitForPendingWrites(completion: $0) } }

  func setOnline(_ isOnline: Bool) throws {
    try wait {
      if isOnline {
        firestore.enableNetwork(completion: $0)
      } else {
        firestore.disableNetwork(completion: $0)
      }
    }
  }

  // MARK: Waiting

  private func wait(_ begin: (@escaping @Sendable ((any Error)?) -> Void) -> Void) throws {
    let ended = DispatchSemaphore(value: 0)
    let outcome = Outcome()
    begin { error in
      outcome.error = error
      ended.signal()
    }
    try wait(for: ended)
    if let error = outcome.error { throw error }
  }

  private func wait(for semaphore: DispatchSemaphore) throws {
    guard semaphore.wait(timeout: .now() + Self.secondsMax) == .success else {
      throw BenchmarkFailure("a client gets no answer in \(Int(Self.secondsMax)) s")
    }
  }

  private final class Outcome: @unchecked Sendable {
    // Why `@unchecked Sendable` is correct: it is written before a semaphore is signalled, and read after.
    var error: (any Error)?
  }
}
#endif

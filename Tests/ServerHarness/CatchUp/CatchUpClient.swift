// The client of a catch-up.

#if Server
import ByteStore
import DocumentStore
import FirestoreRemote
import Foundation
import Harness
import OfflineSync

/// Opens its store for one task, and closes it.
package struct CatchUpClient {
  private let store: DocumentStore
  private let driver: SyncDriver
  private let port: Int
  private let plan: CatchUpPlan
  private let snapshot = Locked<Result<ViewSnapshot, OfflineSyncError>?>(nil)

  /// Does a task for a client whose store is in a directory, and whose server listens at a port.
  package static func run(
    _ task: CatchUpTask, in directory: String, port: Int, of plan: CatchUpPlan
  ) throws -> CatchUpReport {
    switch task {
    case .leave:
      let client = try CatchUpClient(directory, port, plan, day: 0)
      defer { try? client.close() }
      try client.wait { !$0.isFromCache && $0.documents.count == plan.documents }
      try client.queueWrites()
      return CatchUpReport()
    case .comeBack(let way):
      return try comeBack(way, directory, port, plan)
    }
  }

  private static func comeBack(
    _ way: CatchUpWay, _ directory: String, _ port: Int, _ plan: CatchUpPlan
  ) throws -> CatchUpReport {
    let start = ContinuousClock.now
    let startTime = clock()
    let client = try CatchUpClient(directory, port, plan, day: plan.days, way)
    try client.waitForWrites()
    let last = try client.wait { !$0.isFromCache && !$0.hasPendingWrites && $0.committed.isEmpty }
    var report = CatchUpReport()
    report.seconds = (ContinuousClock.now - start) / .seconds(1)
    report.processorSeconds = Double(clock() - startTime) / Double(CLOCKS_PER_SEC)
    let bytes = try ConnectionBytes.since([:], to: port)
    (report.bytesReceived, report.bytesSent) = (bytes.received, bytes.sent)
    report.documents = last.documents.count
    report.digest = CatchUpDocuments.digest(last.documents)
    try client.close()
    return report
  }

  private init(
    _ directory: String, _ port: Int, _ plan: CatchUpPlan, day: Int, _ way: CatchUpWay = .resumed
  ) throws {
    let platform = Platform(
      fileSystem: PosixFileSystem(), clock: MovedClock(days: day), random: SystemRandom())
    store = try DocumentStore.open(directory, options: DocumentStore.Options(), platform: platform)
    var options = FirestoreRemoteOptions(project: LiveServer.project)
    options.host = "127.0.0.1:\(port)"
    options.isSSLEnabled = false
    let remote: any Remote =
      way == .resumed ? FirestoreRemote(options) : WholeAnswerRemote(FirestoreRemote(options))
    driver = try store.attach(remote)
    (self.port, self.plan) = (port, plan)
    _ = driver.listen(to: CatchUpDocuments.query, ListenRules(includesMetadataChanges: true)) {
      [snapshot] result in
      snapshot.withLock { $0 = result }
      snapshot.wakeAll()
    }
  }

  private func close() throws {
    driver.stop()
    try store.close()
  }

  /// Waits for a snapshot.
  @discardableResult
  private func wait(until condition: (ViewSnapshot) -> Bool) throws -> ViewSnapshot {
    let result = snapshot.withLock(
      when: { result in
        switch result {
        case .success(let snapshot): condition(snapshot)
        case .failure: true
        case nil: false
        }
      }, { $0 })
    guard let result else { throw Violation("the client has no snapshot") }
    return try result.get()
  }

  private func queueWrites() throws {
    let queued = Locked((count: 0, error: OfflineSyncError?.none))
    driver.send(.disableNetwork)
    for index in 0..<plan.writes {
      driver.write([CatchUpDocuments.write(index, plan)], .local) { error in
        queued.withLock { ($0.count, $0.error) = ($0.count + 1, error ?? $0.error) }
        queued.wakeAll()
      }
    }
    let error = queued.withLock(when: { $0.count == plan.writes }) { $0.error }
    if let error { throw error }
  }

  private func waitForWrites() throws {
    let outcome = Locked<OfflineSyncError??>(nil)
    driver.waitForPendingWrites { error in
      outcome.withLock { $0 = .some(error) }
      outcome.wakeAll()
    }
    if let error = outcome.withLock(when: { $0 != nil }, { $0 ?? nil }) { throw error }
  }
}
#endif

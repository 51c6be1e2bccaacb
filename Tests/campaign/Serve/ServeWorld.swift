// One store with its program, its writing clients and its listeners.

#if Server
import DocumentStore
import FirestoreWire
import Foundation
import Harness
import OfflineSync
import ServerHarness

final class ServeWorld {
  private static let database = DatabaseName(projectID: "demo-serve", databaseID: "(default)")
  private static let invalidArgument = 3
  private static let unavailable = 14

  let program: ServedProgram
  let folder: URL
  private let loads: [any ServedLoad]
  private let transfers: TransferLoad
  private let listeners: [WatchClient]
  private var port = 0
  private var python: PythonClients?
  private var writing: FirestoreClient?
  private var listening: FirestoreClient?
  private var tasks: [Task<Void, Never>] = []
  private(set) var counts = Counts()

  struct Counts {
    var acknowledged: [String: Int] = [:]
    var unknown = 0
    var refused = 0
    var watch = WatchClient.Counts()
    var documents = 0
    var deadTransactions = 0
    var drainedListeners = 0
    var lostCallsOfPython = 0

    mutating func add(_ other: Counts) {
      acknowledged.merge(other.acknowledged, uniquingKeysWith: +)
      unknown += other.unknown
      refused += other.refused
      watch.add(other.watch)
      documents += other.documents
      deadTransactions += other.deadTransactions
      drainedListeners += other.drainedListeners
      lostCallsOfPython += other.lostCallsOfPython
    }

    var details: [(String, Int)] {
      acknowledged.sorted { $0.key < $1.key }.map { ("acknowledged.\($0.key)", $0.value) } + [
        ("outcomesUnknown", unknown), ("refused", refused), ("documentsCompared", documents),
        ("listenerStreams", watch.streams), ("listenerSnapshots", watch.snapshots),
        ("listenerDocuments", watch.documents), ("targetsResumed", watch.resumes),
        ("targetsReset", watch.resets),
        ("deadTransactionsRefused", deadTransactions),
        ("drainedListeners", drainedListeners),
        ("lostCallsOfPython", lostCallsOfPython),
      ]
    }
  }

  init(program: URL, folder: URL, seed: UInt64) throws {
    self.folder = folder
    self.program = ServedProgram(program: program, folder: folder)
    transfers = TransferLoad(writers: 4, seed: seed)
    loads = [
      CommitLoad(groups: 48, seed: seed), WriteStreamLoad(streams: 2), BatchLoad(batches: 2, documents: 12),
      RESTLoad(clients: 2), transfers,
    ]
    listeners = try Self.subjects().map { WatchClient(Self.database, $0) }
  }

  /// The targets of each listener. All listeners watch the mark, which shows that they are up to date.
  private static func subjects() throws -> [[ModelTarget.Subject]] {
    let number = StoredFieldPath(unchecked: ["n"])
    func all(_ collection: String) -> StructuredQuery {
      StructuredQuery(.collection(CollectionPath(unchecked: [collection])))
    }
    let newest = try all("groups").ordered(by: OrderBy(number, .descending)).limited(to: .first(20))
    let mark = ModelTarget.Subject.documents([markPath])
    return [
      [mark, .query(all("groups"))],
      [mark, .query(newest), .query(all("accounts"))],
      [mark, .query(all("streams")), .query(all("batches")), .query(all("rest"))],
      [mark, .query(all("groups")), .documents([FirestoreClient.path("accounts", "3")])],
    ]
  }

  private static let markPath = FirestoreClient.path("marks", "mark")

  // MARK: The program

  func prepare() throws {
    try FileManager.default.createDirectory(at: program.directory, withIntermediateDirectories: true)
  }

  func start(seconds: Double) throws {
    try program.start()
    port = try program.waitUntilReady(seconds: seconds).port
    writing = try FirestoreClient(port: port, database: Self.database)
    listening = try FirestoreClient(port: port, database: Self.database)
    if python == nil {
      python = try PythonClients(port: port, project: Self.database.projectID, folder: folder)
    }
  }

  /// Ends the clients that come again by themselves. The program is running.
  func finish() async throws {
    guard let python, let writing else { return }
    try python.finish()
    counts.lostCallsOfPython = python.lostCalls
    counts.acknowledged["python"] = try await python.verify(writing)
  }

  /// Ends everything, in any state.
  func end() {
    for task in tasks { task.cancel() }
    program.kill()
    writing?.close()
    listening?.close()
    for load in loads {
      counts.acknowledged[load.name, default: 0] += load.tally.acknowledged
      counts.unknown += load.tally.unknown
      counts.refused += load.tally.refused
    }
    for listener in listeners { counts.watch.add(listener.counts) }
  }

  func startLoad() {
    guard let writing else { return }
    for load in loads {
      tasks.append(Task { [port] in await load.run(writing, port: port) })
    }
  }

  func kill() async throws {
    guard program.kill() else {
      throw ServedProgram.Failure(description: "the program ended under load: \(program.printed)")
    }
    try await endLoad()
    for load in loads { _ = load.tally.takeCutOff() }
  }

  /// Asks the program to end. It must answer all calls, and tell its listeners.
  func terminate(seconds: Double) async throws {
    try program.terminate(seconds: seconds)
    try await endLoad()
    for load in loads {
      // REST has a connection for each call, and a new one is refused.
      guard let text = load.tally.takeCutOff(), load.name != "rest" else { continue }
      throw Violation("a program that drains has lost a call of the \(load.name): \(text)")
    }
    for listener in listeners {
      guard let end = listener.waitUntilEnded(seconds: seconds), end.origin == .status,
        end.code == Self.unavailable
      else {
        throw Violation(
          "a listener of a program that drains ends with \(listener.lastEnd.map { "\($0)" } ?? "nothing")")
      }
      counts.drainedListeners += 1
    }
  }

  private func endLoad() async throws {
    for task in tasks { await task.value }
    tasks = []
    writing?.close()
    listening?.close()
    for load in loads {
      if let text = load.tally.takeUnexpected() { throw Violation("\(load.name): \(text)") }
    }
  }

  // MARK: Verification

  func verify(_ round: Int, seconds: Double) async throws {
    guard let writing, let listening else { return }
    var documents: [StoredDocument] = []
    for load in loads {
      var found: [DocumentPath: StoredDocument] = [:]
      for collection in load.collections {
        for document in try await writing.documents(in: collection) { found[document.path] = document }
      }
      try load.judge(found)
      documents += found.values
    }
    if let python { counts.acknowledged["python"] = try await python.verify(writing) }
    counts.documents += documents.count
    try await refuseDeadTransactions(writing)
    for listener in listeners { listener.connect(listening) }
    try await writing.commit([.set(Self.markPath, StoredMap([("n", .integer(Int64(round)))]))])
    documents += try await writing.documents(at: [Self.markPath]).values
    for (number, listener) in listeners.enumerated() {
      let hasConverged = listener.wait(seconds: seconds) { memory in
        memory.documents[Self.markPath]?.fields?["n"] == .integer(Int64(round))
      }
      if let violation = listener.violation { throw Violation("listener \(number): \(violation)") }
      guard hasConverged else {
        throw Violation(
          "listener \(number) does not converge, last end \(listener.lastEnd.map { "\($0)" } ?? "none")")
      }
      if let difference = listener.difference(from: documents) {
        throw Violation("listener \(number) differs from the store: \(difference)")
      }
      let counts = listener.counts
      guard counts.needlessResets == 0, counts.repeated == 0, counts.mismatches == 0 else {
        throw Violation("listener \(number) has received more than the changes: \(counts)")
      }
    }
  }

  /// Transactions of a process that was killed must be unknown, and their locks must be gone.
  private func refuseDeadTransactions(_ client: FirestoreClient) async throws {
    for transaction in transfers.takeAbandoned() {
      do throws(GRPCEnd) {
        try await client.commit([.delete(FirestoreClient.path("accounts", "0"))], transaction: transaction)
        throw GRPCEnd(code: 0, message: "it has committed", origin: .status)
      } catch {
        guard error.code == Self.invalidArgument, error.origin == .status else {
          throw Violation("a transaction of a dead process: \(error)")
        }
        counts.deadTransactions += 1
      }
    }
  }
}

extension WatchClient.Counts {
  fileprivate mutating func add(_ other: WatchClient.Counts) {
    streams += other.streams
    snapshots += other.snapshots
    documents += other.documents
    resumes += other.resumes
    resets += other.resets
  }
}
#endif

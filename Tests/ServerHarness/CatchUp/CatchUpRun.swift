// A catch-up from its beginning to its end, in each of the ways.
//
//   1. A server has documents, and a client gets them, disconnects and queues writes.
//   2. Days pass, in which the server changes. Its feed no longer has the first of the changes.
//   3. For each way: copies of both stores; the client comes back; both sides must have the same documents,
//      with each write applied once.

#if Server
import Authority
import ByteStore
import DocumentStore
import Foundation
import Harness

package struct CatchUpRun {
  /// Runs a task of the client.
  package typealias Client = (
    _ task: CatchUpTask, _ directory: String, _ port: Int, _ plan: CatchUpPlan
  ) throws -> CatchUpReport

  /// The measures of a way.
  package struct Outcome: Sendable {
    package var way: CatchUpWay
    package var client: CatchUpReport
    package var serverProcessorSeconds = 0.0
    /// The peak of the resident memory of the server's process.
    package var serverPeakBytes = 0
  }

  private static let documentsPerCommit = 500

  private let plan: CatchUpPlan
  private let directory: String
  private let client: Client

  /// `directory` exists and is empty.
  package init(_ plan: CatchUpPlan, in directory: String, client: @escaping Client) {
    (self.plan, self.directory, self.client) = (plan, directory, client)
  }

  // MARK: The time before

  /// Steps 1 and 2.
  package func prepare() throws {
    let store = try open(server, MovedClock(days: 0))
    try commit((0..<plan.documents).map(CatchUpDocuments.document), to: store)
    let live = try LiveServer(store, rules: .init())
    _ = try client(.leave, clientDirectory, live.port, plan)
    try live.stop()
    let clock = MovedClock(days: 0)
    let changing = try open(server, clock)
    for day in 1...plan.days {
      clock.move(toDay: day)
      let numbers = (day - 1) * plan.changes / plan.days..<day * plan.changes / plan.days
      try commit(numbers.map { CatchUpDocuments.change($0, plan) }, to: changing)
    }
    try changing.close()
  }

  private var server: String { "\(directory)/server" }
  private var clientDirectory: String { "\(directory)/client" }

  private func open(_ path: String, _ clock: MovedClock) throws -> DocumentStore {
    let platform = Platform(fileSystem: PosixFileSystem(), clock: clock, random: SystemRandom())
    return try DocumentStore.open(path, options: DocumentStore.Options(), platform: platform)
  }

  private func commit(_ mutations: [Mutation], to store: DocumentStore) throws {
    for start in stride(from: 0, to: mutations.count, by: Self.documentsPerCommit) {
      try store.commit(Array(mutations[start...].prefix(Self.documentsPerCommit)))
    }
  }

  // MARK: The return

  /// Step 3 for one way.
  package func comeBack(_ way: CatchUpWay) throws -> Outcome {
    let files = FileManager.default
    let copies = "\(directory)/\(way.rawValue)-\(UUID().uuidString)"
    try files.createDirectory(atPath: copies, withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: copies) }
    try files.copyItem(atPath: server, toPath: "\(copies)/server")
    try files.copyItem(atPath: clientDirectory, toPath: "\(copies)/client")
    let live = try LiveServer(try open("\(copies)/server", MovedClock(days: plan.days)), rules: .init())
    var outcome = Outcome(way: way, client: CatchUpReport())
    do {
      PeakMemory.reset()
      let start = clock()
      outcome.client = try client(.comeBack(way), "\(copies)/client", live.port, plan)
      outcome.serverProcessorSeconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
      outcome.serverPeakBytes = PeakMemory.bytes
      try check(outcome.client, live.store)
    } catch {
      try? live.stop()
      throw error
    }
    try live.stop()
    return outcome
  }

  private func check(_ report: CatchUpReport, _ store: DocumentStore) throws {
    let documents = try store.documents(CatchUpDocuments.query)
    let taps = documents.reduce(0) { sum, document in
      guard case .integer(let taps) = document.fields["taps"] else { return sum }
      return sum + Int(taps)
    }
    guard taps == CatchUpDocuments.increments(plan) else {
      throw Violation("\(taps) of \(CatchUpDocuments.increments(plan)) increments are in the server")
    }
    let added = documents.count { $0.fields["change"] == .integer(-1) }
    guard added == plan.writes - CatchUpDocuments.increments(plan) else {
      throw Violation("\(added) documents of the client are in the server")
    }
    guard report.documents == documents.count, report.digest == CatchUpDocuments.digest(documents) else {
      throw Violation(
        "the client has \(report.documents) documents, the server \(documents.count), with other contents")
    }
  }
}
#endif

// Well-behaved clients, which measure how long they wait beside attackers, and check each answer.

#if Server
import DocumentStore
import FirestoreWire
import Foundation
import Harness

/// Clients that commit and read documents of their own, and a listener of all of these. Usable from any
/// thread.
package final class MeasuredClients: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the variables.
  private static let collection = "abuse"
  private static let method = "/google.firestore.v1.Firestore/"

  private let target: AbuseTarget
  private let isPaced: Bool
  private let listener: WatchClient?
  private let listening: FirestoreClient
  private let group = DispatchGroup()
  private let lock = NSLock()
  private var samples = LatencySamples()
  private var firstViolation: String?
  private var isStopped = false

  /// Starts clients with numbers from `first` on. Without a pace they are a load, of the lowest priority, as
  /// attackers are.
  package init(_ target: AbuseTarget, count: Int, first: Int = 0, isPaced: Bool = true) throws {
    self.target = target
    self.isPaced = isPaced
    listening = try target.client()
    listener = isPaced ? WatchClient(target.database, [.query(Self.query)]) : nil
    listener?.connect(listening)
    for number in first..<first + count {
      let client = try target.client()
      group.enter()
      Thread.detachNewThread { [self] in
        if !isPaced { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }
        run(client, number)
        client.close()
        group.leave()
      }
    }
  }

  private static var query: StructuredQuery {
    StructuredQuery(.collection(CollectionPath(unchecked: [collection])))
  }

  /// The first answer that is wrong.
  package var violation: String? { lock.withLock { firstViolation } ?? listener?.violation }

  /// The times that were measured since the last call.
  package func takeSamples() -> LatencySamples {
    lock.withLock {
      defer { samples = LatencySamples() }
      return samples
    }
  }

  /// Ends the clients. The listener has to show what they have written.
  package func finish() async throws {
    lock.withLock { isStopped = true }
    await withCheckedContinuation { continuation in
      group.notify(queue: .global()) { continuation.resume() }
    }
    defer { listening.close() }
    guard violation == nil, let listener else { return }
    let documents = try await listening.documents(in: Self.collection)
    let end = Date().addingTimeInterval(10)
    while let difference = listener.difference(from: documents), violation == nil {
      guard Date() < end else { return note("the listener is behind: \(difference)") }
      try await Task.sleep(for: .milliseconds(20))
    }
    listener.disconnect()
  }

  private func note(_ violation: String) { lock.withLock { firstViolation = firstViolation ?? violation } }

  // MARK: One client

  private func run(_ client: FirestoreClient, _ number: Int) {
    let path = FirestoreClient.path(Self.collection, "client-\(number)")
    var random = SeededRandom(seed: UInt64(number))
    var count = 0
    while !lock.withLock({ isStopped || firstViolation != nil }) {
      count += 1
      do throws(GRPCEnd) {
        let (commit, get) = (try commit(client, path, count), try get(client, path))
        guard get.number == count else {
          return note(
            "client \(number) reads \(get.number.map { "\($0)" } ?? "nothing") after writing \(count)")
        }
        lock.withLock {
          samples.commits.append(commit)
          samples.gets.append(get.seconds)
        }
      } catch {
        return note("client \(number) gets \(error) after \(count) commits")
      }
      if isPaced { Thread.sleep(forTimeInterval: 0.002 + Double(random.below(4)) / 1000) }
    }
  }

  private func commit(
    _ client: FirestoreClient, _ path: DocumentPath, _ number: Int
  ) throws(GRPCEnd) -> Double {
    var request = Wire.CommitRequest()
    request.database = target.database.text
    request.writes = try client.writes([.set(path, StoredMap([("n", .integer(Int64(number)))]))])
    return try call(client, "Commit", FirestoreClient.bytes(request)).seconds
  }

  private func get(
    _ client: FirestoreClient, _ path: DocumentPath
  ) throws(GRPCEnd) -> (number: Int?, seconds: Double) {
    var request = Wire.BatchGetDocumentsRequest()
    request.database = target.database.text
    request.documents = [target.database.name(of: path)]
    let (messages, seconds) = try call(client, "BatchGetDocuments", FirestoreClient.bytes(request))
    for bytes in messages {
      let answer: Wire.BatchGetDocumentsResponse = try FirestoreClient.message(bytes)
      if case .found(let document)? = answer.result, case .integer(let number)? = document.fields["n"] {
        return (Int(number), seconds)
      }
    }
    return (nil, seconds)
  }

  private func call(
    _ client: FirestoreClient, _ method: String, _ bytes: [UInt8]
  ) throws(GRPCEnd) -> (messages: [[UInt8]], seconds: Double) {
    let start = ContinuousClock.now
    let reply = client.connection.call(Self.method + method, bytes)
    guard reply.end.isOK else { throw reply.end }
    return (reply.messages, (ContinuousClock.now - start) / .seconds(1))
  }
}

/// Times in seconds.
package struct LatencySamples: Sendable {
  package var gets: [Double] = []
  package var commits: [Double] = []

  package init() {}

  package var count: Int { min(gets.count, commits.count) }

  /// The time that this share did not exceed.
  static func quantile(_ share: Double, of times: [Double]) -> Double {
    let sorted = times.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  /// The medians and the 95th percentiles.
  var summary: LatencySummary {
    LatencySummary(
      times: [gets, commits].flatMap { times in [0.5, 0.95].map { Self.quantile($0, of: times) } })
  }
}

/// The median and the 95th percentile of gets, and those of commits.
package struct LatencySummary: Sendable {
  package static let names = ["get.p50", "get.p95", "commit.p50", "commit.p95"]
  package var times: [Double]

  /// The largest quotient of a time and the one of `others` that is larger.
  func ratio(to others: [LatencySummary]) -> Double {
    times.indices.map { place in
      let base = others.map { $0.times[place] }.max() ?? 0
      return base > 0 ? times[place] / base : 0
    }.max() ?? 0
  }

  package var text: String {
    zip(Self.names, times).map { "\($0) \(Int(($1 * 1e6).rounded()))" }.joined(separator: ", ") + " µs"
  }
}
#endif

// W19: `await getDocument()` and `data(as:)`, from a detached task and from the main actor. The peer is
// a SQLite get with `JSONDecoder`, without `await`.

import BenchmarkReports
import FirebaseFirestore
import SampleDocuments

enum AsyncReads: Workload {
  static let name = "W19"
  static let title = "await getDocument() and data(as:)"
  static var engines: [any Engine] {
    var engines: [any Engine] = [AwaitedGets()]
    #if SQLITE
    engines.append(SQLiteDecodedGets())
    #endif
    return engines
  }
  static let goals = [
    Goal(
      title: "awaited get of a struct, detached task", metric: "detached_ns",
      measure: .toBestPeer("get_struct_ns"), bound: 0.3
    ).summarized(as: "awaited get, struct"),
    Goal(
      title: "awaited get on the main actor, relative to a detached task", metric: "main_actor_ns",
      measure: .toOwn(engine: "dugout", metric: "detached_ns"), bound: 3),
  ]

  fileprivate static let times = 5000
  fileprivate static let perBlock = 500
}

private struct AwaitedGets: Engine {
  let name = "dugout"

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let documents = context.options.documents
    return try PublicReads.withFirestore(context) { firestore in
      let references = (0..<2 * AsyncReads.times).map {
        firestore.document(SampleDocument(ReadQuery.number($0, below: documents)).path)
      }
      let (ofDetached, ofMain) = (references[..<AsyncReads.times], references[AsyncReads.times...])
      try PublicReads.warm(firestore, context)
      _ = try Waiting.run { try await Self.nanoseconds(ofDetached) }
      _ = try Waiting.run { try await Self.onMainActor(ofMain) }
      var (detached, main) = ((nanoseconds: 0.0, sum: 0), (nanoseconds: 0.0, sum: 0))
      // The variants alternate and read different documents, so that neither variant warms the cache for the
      // other.
      for start in stride(from: 0, to: AsyncReads.times, by: AsyncReads.perBlock) {
        for isMain in start / AsyncReads.perBlock % 2 == 0 ? [false, true] : [true, false] {
          if isMain {
            let block = ofMain.dropFirst(start).prefix(AsyncReads.perBlock)
            let part = try Waiting.run { try await Self.onMainActor(block) }
            main = (main.nanoseconds + part.nanoseconds, main.sum &+ part.sum)
          } else {
            let block = ofDetached.dropFirst(start).prefix(AsyncReads.perBlock)
            let part = try Waiting.run { try await Self.nanoseconds(block) }
            detached = (detached.nanoseconds + part.nanoseconds, detached.sum &+ part.sum)
          }
        }
      }
      try context.answers.note("awaited gets", detached.sum, of: name)
      try context.answers.note("awaited gets on the main actor", main.sum, of: name)
      let count = Double(AsyncReads.times)
      return ["detached_ns": detached.nanoseconds / count, "main_actor_ns": main.nanoseconds / count]
    }
  }

  @MainActor
  private static func onMainActor(_ references: ArraySlice<DocumentReference>) async throws -> (
    nanoseconds: Double, sum: Int
  ) {
    try await nanoseconds(references)
  }

  /// Runs all reads on the caller's actor.
  nonisolated(nonsending) private static func nanoseconds(
    _ references: ArraySlice<DocumentReference>
  ) async throws -> (nanoseconds: Double, sum: Int) {
    let clock = ContinuousClock()
    let start = clock.now
    var sum = 0
    for reference in references {
      let user = try await reference.getDocument().data(as: SampleFields<Timestamp>.self)
      sum &+= user.weight { $0.microseconds }
    }
    return ((clock.now - start) / .nanoseconds(1), sum)
  }
}

#if SQLITE
private struct SQLiteDecodedGets: Engine {
  let name = "sqlite-json"

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let store = try SQLiteJSONDocuments<JSONForm>(context)
    defer { store.close() }
    func keys(_ numbers: Range<Int>) -> [[UInt8]] {
      numbers.map {
        SQLiteJSONDocuments<JSONForm>.key(ReadQuery.number($0, below: context.options.documents))
      }
    }
    let timed = keys(0..<AsyncReads.times)
    let objects = JSONObjects()
    func get(_ key: [UInt8]) throws -> Int { try store.get(key) { try objects.fields($0).weight { $0 } } }
    for number in ReadQuery.warmUpNumbers(context.options.documents) {
      _ = try get(SQLiteJSONDocuments<JSONForm>.key(number))
    }
    let time = try TimedPass.run(timed.count) { try get(timed[$0]) }
    try context.answers.note("awaited gets", time.sum, of: name)
    let others = try keys(AsyncReads.times..<2 * AsyncReads.times).reduce(0) { try $0 &+ get($1) }
    try context.answers.note("awaited gets on the main actor", others, of: name)
    return ["get_struct_ns": time.nanoseconds]
  }
}
#endif

// W19: `await getDocument()` and `data(as:)`, from a detached task and from the main actor. SQLite's get and
// `JSONDecoder` is what it is compared with, which needs no await.

import FirebaseFirestore

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
      title: "from a detached task", metric: "detached_ns", measure: .toBestPeer("get_struct_ns"), bound: 0.3),
    Goal(
      title: "from the main actor over a detached task", metric: "main_actor_ns",
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
      let references = (0..<AsyncReads.times).map {
        firestore.document(SampleDocument(Question.number($0, below: documents)).path)
      }
      try PublicReads.warm(firestore, context)
      _ = try Waiting.run { try await Self.nanoseconds(references) }
      _ = try Waiting.run { try await Self.onMainActor(references) }
      var (detached, main) = ((nanoseconds: 0.0, sum: 0), (nanoseconds: 0.0, sum: 0))
      let blocks = stride(from: 0, to: references.count, by: AsyncReads.perBlock).map {
        Array(references[$0..<min($0 + AsyncReads.perBlock, references.count)])
      }
      // By turns, so that neither has warmed the documents for the other.
      for (number, block) in blocks.enumerated() {
        for isMain in number % 2 == 0 ? [false, true] : [true, false] {
          if isMain {
            let part = try Waiting.run { try await Self.onMainActor(block) }
            main = (main.nanoseconds + part.nanoseconds, main.sum &+ part.sum)
          } else {
            let part = try Waiting.run { try await Self.nanoseconds(block) }
            detached = (detached.nanoseconds + part.nanoseconds, detached.sum &+ part.sum)
          }
        }
      }
      try context.answers.note("awaited gets", detached.sum, of: name)
      try context.answers.note("awaited gets", main.sum, of: "\(name), main actor")
      let count = Double(references.count)
      return ["detached_ns": detached.nanoseconds / count, "main_actor_ns": main.nanoseconds / count]
    }
  }

  @MainActor
  private static func onMainActor(_ references: [DocumentReference]) async throws -> (
    nanoseconds: Double, sum: Int
  ) {
    try await nanoseconds(references)
  }

  /// All of them, on the caller's actor, whichever it is.
  nonisolated(nonsending) private static func nanoseconds(
    _ references: [DocumentReference]
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
    let store = try context.stores.directory(of: SQLiteJSON.self)
    let path = store.appendingPathComponent("sqlite.db").path
    let database = try SQLiteDatabase(path)
    defer { database.close() }
    try database.read(cacheBytes: context.options.cacheBytes)
    let paths = (0..<AsyncReads.times).map {
      SampleDocument(Question.number($0, below: context.options.documents)).path
    }
    let decoder = JSONDecoder()
    let select = try database.prepared("SELECT data FROM documents WHERE path = ?")
    func get(_ path: String) throws -> Int {
      try select.run { select in
        select.bind(1, path)
        guard try select.step() else { return -1 }
        return try decoder.decode(SampleFields<Int>.self, from: Data(select.blob(0))).weight { $0 }
      }
    }
    for number in Question.numbersToWarm(context.options.documents) {
      _ = try get(SampleDocument(number).path)
    }
    for path in paths.prefix(paths.count / 3) { _ = try get(path) }
    var sum = 0
    let time = try ContinuousClock().measure { for path in paths { sum &+= try get(path) } }
    try context.answers.note("awaited gets", sum, of: name)
    return ["get_struct_ns": time / .nanoseconds(1) / Double(paths.count)]
  }
}
#endif

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
      let detached = try Waiting.run { try await Self.nanoseconds(references) }
      let main = try Waiting.run { try await Self.onMainActor(references) }
      try context.answers.note("awaited gets", detached.sum, of: name)
      try context.answers.note("awaited gets", main.sum, of: "\(name), main actor")
      return ["detached_ns": detached.nanoseconds, "main_actor_ns": main.nanoseconds]
    }
  }

  @MainActor
  private static func onMainActor(_ references: [DocumentReference]) async throws -> (
    nanoseconds: Double, sum: Int
  ) {
    try await nanoseconds(references)
  }

  /// On the caller's actor, whichever it is.
  nonisolated(nonsending) private static func nanoseconds(
    _ references: [DocumentReference]
  ) async throws -> (nanoseconds: Double, sum: Int) {
    for reference in references.prefix(references.count / 3) { _ = try await reference.getDocument() }
    let clock = ContinuousClock()
    let start = clock.now
    var sum = 0
    for reference in references {
      let user = try await reference.getDocument().data(as: SampleFields<Timestamp>.self)
      sum &+= user.weight { $0.microseconds }
    }
    return ((clock.now - start) / .nanoseconds(1) / Double(references.count), sum)
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
    try database.read(path, cacheBytes: context.options.cacheBytes)
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

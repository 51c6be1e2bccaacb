// W16: from a write to the listener that it concerns, with one live query and with ten thousand; what a write that
// concerns nobody costs with none of them and with ten thousand, in two stores that take turns; and the same from the
// public API, whose callbacks come on the main queue.

import DocumentStore
import FirebaseFirestore

enum Listening: Workload {
  static let name = "W16"
  static let title = "from a write to its listener"
  static let engines: [any Engine] = [
    Told(listeners: 1), Told(listeners: 10_000), Unconcerned(), ToldByAPI(listeners: 1),
    ToldByAPI(listeners: 10_000),
  ]
  static let goals = [
    Goal(
      title: "callback with 10,000 live queries over one", engine: Told.many, metric: "callback_p50_us",
      measure: .toOwn(engine: Told.one, metric: "callback_p50_us"), bound: 1.2),
    Goal(
      title: "callback over the commit alone", engine: Told.one, metric: "callback_p50_us",
      measure: .toOwn(engine: Told.one, metric: "commit_p50_us"), bound: 1.5),
    // The wall clock would show the disk and nothing else.
    Goal(
      title: "processor time of a commit that concerns none of 10,000 live queries over none",
      engine: Unconcerned.name, metric: "processor_with_10000_us",
      measure: .toOwn(engine: Unconcerned.name, metric: "processor_without_us"), bound: 1.2),
  ]

  fileprivate static func count(_ context: RunContext) -> Int { min(context.options.documents, 3000) }

  fileprivate static func open(_ directory: URL, _ name: String) throws -> DocumentStore {
    try DocumentStore.open(directory.appendingPathComponent(name).path)
  }

  /// Users; `town` stands in for their own.
  fileprivate static func write(_ number: Int, town: String? = nil) throws -> Mutation {
    let document = SampleDocument(number * 2)
    var fields = document.fields
    if let town, let place = fields.firstIndex(where: { $0.name == "city" }) {
      fields[place].value = .text(town)
    }
    return .set(
      try DocumentPath(document.segments), StoredMap(fields.map { ($0.name, StoredValue($0.value)) }))
  }

  /// Live queries for other values, ranges and collections than those that are written.
  fileprivate static func listenElsewhere(_ store: DocumentStore, _ count: Int, _ queue: DispatchQueue) throws
  {
    let users = try CollectionPath(["users"])
    let score = try StoredFieldPath(["score"])
    for number in 0..<count {
      let query: StructuredQuery
      switch number % 3 {
      case 0:
        query = try StructuredQuery(.collection(users)).filtered(
          by: .field(StoredFieldPath(["city"]), .equal, .string("Nowhere \(number)")))
      case 1:
        query = try StructuredQuery(.collection(users))
          .filtered(by: .field(score, .greaterThan, .double(100_000 + Double(number))))
          .filtered(by: .field(score, .lessThan, .double(100_001 + Double(number))))
      default: query = StructuredQuery(.collection(try CollectionPath(["elsewhere\(number)"])))
      }
      _ = try store.listen(to: query, on: queue) { _ in }
    }
    queue.sync {}
  }
}

private struct Told: Engine {
  static let one = "dugout, 1 listener"
  static let many = "dugout, 10000 listeners"
  var listeners: Int
  var name: String { listeners == 1 ? Self.one : Self.many }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let store = try Listening.open(directory, "store")
    defer { try? store.close() }
    let queue = DispatchQueue(label: "listeners")
    try Listening.listenElsewhere(store, listeners - 1, queue)
    let told = DispatchSemaphore(value: 0)
    let query = try StructuredQuery(.collection(CollectionPath(["users"])))
      .filtered(by: .field(StoredFieldPath(["city"]), .equal, .string("Here")))
    _ = try store.listen(to: query, on: queue) { _ in told.signal() }
    told.wait()
    let writes = try (0..<Listening.count(context)).map { try Listening.write($0, town: "Here") }
    let clock = ContinuousClock()
    var commits: [Double] = []
    var callbacks: [Double] = []
    for write in writes {
      let start = clock.now
      try store.commit([write])
      commits.append((clock.now - start) / .microseconds(1))
      told.wait()
      callbacks.append((clock.now - start) / .microseconds(1))
    }
    return ["commit_p50_us": commits.median, "callback_p50_us": callbacks.median]
  }
}

private struct Unconcerned: Engine {
  static let name = "dugout, nobody concerned"
  var name: String { Self.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let quiet = try Listening.open(directory, "quiet")
    let watched = try Listening.open(directory, "watched")
    defer {
      try? quiet.close()
      try? watched.close()
    }
    try Listening.listenElsewhere(watched, 10_000, DispatchQueue(label: "listeners"))
    var wall: [[Double]] = [[], []]
    var processor: [[Double]] = [[], []]
    let clock = ContinuousClock()
    for number in 0..<Listening.count(context) {
      let write = try Listening.write(number)
      for place in number % 2 == 0 ? [0, 1] : [1, 0] {
        let (start, used) = (clock.now, Self.threadMicroseconds)
        try (place == 0 ? quiet : watched).commit([write])
        wall[place].append((clock.now - start) / .microseconds(1))
        processor[place].append(Self.threadMicroseconds - used)
      }
    }
    return [
      "commit_without_p50_us": wall[0].median, "commit_with_10000_p50_us": wall[1].median,
      "ratio": wall[1].median / wall[0].median,
      "processor_without_us": processor[0].median, "processor_with_10000_us": processor[1].median,
    ]
  }

  private static var threadMicroseconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}

private struct ToldByAPI: Engine {
  var listeners: Int
  var name: String { "dugout, Firestore API, \(listeners) listener\(listeners == 1 ? "" : "s")" }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let firestore = try Firestore.open(at: directory.appendingPathComponent("store"))
    let users = firestore.collection("users")
    let first = DispatchGroup()
    for number in 1..<max(listeners, 1) {
      first.enter()
      let called = Once(first)
      users.whereField("city", isEqualTo: "Nowhere \(number)").addSnapshotListener { _, _ in called.leave() }
    }
    first.wait()
    let told = DispatchSemaphore(value: 0)
    users.whereField("city", isEqualTo: "Here").addSnapshotListener { _, _ in told.signal() }
    told.wait()
    let clock = ContinuousClock()
    var callbacks: [Double] = []
    for number in 0..<Listening.count(context) / 3 {
      let start = clock.now
      users.document("user-\(number)").setData(["city": "Here", "number": number, "name": "Person \(number)"])
      told.wait()
      callbacks.append((clock.now - start) / .microseconds(1))
    }
    try Waiting.run { try await firestore.terminate() }
    return ["callback_p50_us": callbacks.median]
  }

  /// Leaves a group at the first of many calls, all on the main queue.
  private final class Once: @unchecked Sendable {
    // Only used on the main queue, once it is made.
    private var group: DispatchGroup?

    init(_ group: DispatchGroup) { self.group = group }

    func leave() {
      group?.leave()
      group = nil
    }
  }
}

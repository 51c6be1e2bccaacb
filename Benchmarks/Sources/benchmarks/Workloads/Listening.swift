// W16: the cost of listeners.
//
//   - the time from a write to the call of its listener, with one live query and with ten thousand
//   - for comparison, the time of a write to a second store, which has no listeners; writes to the two stores
//     alternate
//   - the time of a write that affects no listener, with no listeners and with ten thousand. The stores
//     alternate. Two of the stores have no listeners, and the difference between these two shows the noise
//   - the time from a write to the call of its listener through the public API, whose callbacks run on the
//     main queue

import BenchmarkReports
import DocumentStore
import FirebaseFirestore
import SampleDocuments

enum Listening: Workload {
  static let name = "W16"
  static let title = "from a write to its listener"
  static let engines: [any Engine] = [
    NotifiedByEngine(listeners: 1), NotifiedByEngine(listeners: 10_000), Unaffected(),
    NotifiedByAPI(listeners: 1),
    NotifiedByAPI(listeners: 10_000),
  ]
  static let goals = [
    Goal(
      title: "write to callback with 10,000 live queries, relative to one", engine: NotifiedByAPI.many,
      metric: "callback_p50_us",
      measure: .toOwn(engine: NotifiedByAPI.one, metric: "callback_p50_us"), bound: 1.2),
    Goal(
      title: "write to callback, relative to a write without listeners", engine: NotifiedByAPI.one,
      metric: "callback_p50_us",
      measure: .toOwn(engine: NotifiedByAPI.one, metric: "alone_p50_us"), bound: 1.5),
    Goal(
      title: "write to callback in the engine, relative to no listeners", engine: NotifiedByEngine.one,
      metric: "callback_p50_us", measure: .toOwn(engine: NotifiedByEngine.one, metric: "alone_p50_us"),
      bound: 1.5),
    // The goal is for processor time, because the wall clock would mostly measure the disk.
    Goal(
      title: "CPU time of a commit that matches none of 10,000 live queries",
      engine: Unaffected.name, metric: "processor_with_10000_us",
      measure: .toOwn(engine: Unaffected.name, metric: "processor_without_us"), bound: 1.2),
  ]

  fileprivate static func count(_ context: RunContext) -> Int { min(context.options.documents, 3000) }

  fileprivate static func open(_ directory: URL, _ name: String) throws -> DocumentStore {
    try DocumentStore.open(directory.appendingPathComponent(name).path)
  }

  /// Returns a write of a user document. `town` replaces the town that the user would have.
  fileprivate static func write(_ number: Int, town: String? = nil) throws -> Mutation {
    let document = SampleDocument(number * 2)
    var fields = document.fields
    if let town, let place = fields.firstIndex(where: { $0.name == "city" }) {
      fields[place].value = .text(town)
    }
    return .set(
      try DocumentPath(document.segments), StoredMap(fields.map { ($0.name, StoredValue($0.value)) }))
  }

  /// Adds live queries whose values, ranges and collections are never written.
  fileprivate static func addUnaffectedListeners(_ store: DocumentStore, _ count: Int, _ queue: DispatchQueue)
    throws
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

private struct NotifiedByEngine: Engine {
  static let one = "dugout, 1 listener"
  static let many = "dugout, 10000 listeners"
  var listeners: Int
  var name: String { listeners == 1 ? Self.one : Self.many }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let store = try Listening.open(directory, "store")
    let alone = try Listening.open(directory, "alone")
    defer {
      try? store.close()
      try? alone.close()
    }
    let queue = DispatchQueue(label: "listeners")
    try Listening.addUnaffectedListeners(store, listeners - 1, queue)
    let notified = DispatchSemaphore(value: 0)
    let query = try StructuredQuery(.collection(CollectionPath(["users"])))
      .filtered(by: .field(StoredFieldPath(["city"]), .equal, .string("Here")))
    let seen = LastNotified()
    _ = try store.listen(to: query, on: queue) { event in
      seen.note((try? event.get())?.changes.first?.document.path.id)
      notified.signal()
    }
    notified.wait()
    let writes = try (0..<Listening.count(context)).map { try Listening.write($0, town: "Here") }
    let clock = ContinuousClock()
    var commits: [Double] = []
    var callbacks: [Double] = []
    for (number, write) in writes.enumerated() {
      func writeAlone() throws {
        let start = clock.now
        try alone.commit([write])
        commits.append((clock.now - start) / .microseconds(1))
      }
      if number % 2 == 0 { try writeAlone() }
      let start = clock.now
      try store.commit([write])
      notified.wait()
      callbacks.append((clock.now - start) / .microseconds(1))
      try seen.require(write.path.id)
      if number % 2 == 1 { try writeAlone() }
    }
    return ["alone_p50_us": commits.median, "callback_p50_us": callbacks.median]
  }
}

private struct Unaffected: Engine {
  static let name = "dugout, nobody concerned"
  var name: String { Self.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let stores = try ["quiet", "quiet again", "watched"].map { try Listening.open(directory, $0) }
    defer { for store in stores { try? store.close() } }
    try Listening.addUnaffectedListeners(stores[2], 10_000, DispatchQueue(label: "listeners"))
    var wall: [[Double]] = [[], [], []]
    var processor: [[Double]] = [[], [], []]
    let clock = ContinuousClock()
    for number in 0..<Listening.count(context) {
      let write = try Listening.write(number)
      // Each of the two stores without listeners follows the watched store equally often.
      let order = number / 3 % 2 == 0 ? [0, 1, 2] : [1, 0, 2]
      for turn in order.indices {
        let place = order[(number + turn) % order.count]
        let (start, used) = (clock.now, Self.threadMicroseconds)
        try stores[place].commit([write])
        wall[place].append((clock.now - start) / .microseconds(1))
        processor[place].append(Self.threadMicroseconds - used)
      }
    }
    let (commit, used) = (wall.map(\.median), processor.map(\.median))
    // Subtracts the times of consecutive commits pair by pair, because a busy machine delays both commits
    // equally.
    let more = processor.map { zip($0, processor[0]).map { $0 - $1 }.median }
    return [
      "commit_without_p50_us": commit[0], "commit_with_10000_p50_us": commit[2],
      "commit_without_again_p50_us": commit[1],
      "commit_with_10000_over_without": commit[2] / commit[0],
      "commit_without_again_over_without": commit[1] / commit[0],
      "processor_without_us": used[0], "processor_without_again_us": used[1],
      "processor_with_10000_us": used[2],
      "processor_with_10000_over_without": used[2] / used[0],
      "processor_without_again_over_without": used[1] / used[0],
      "processor_more_with_10000_us": more[2], "processor_more_without_again_us": more[1],
    ]
  }

  private static var threadMicroseconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}

/// The ID of the document that a listener was notified of last.
private final class LastNotified: @unchecked Sendable {
  // Guarded by the lock.
  private var id: String?
  private let lock = NSLock()

  func note(_ id: String?) { lock.withLock { self.id = id } }

  func require(_ expected: String) throws {
    guard lock.withLock({ id }) == expected else {
      throw BenchmarkFailure("a listener was not notified of the written document")
    }
  }
}

private struct NotifiedByAPI: Engine {
  static let one = "dugout, Firestore API, 1 listener"
  static let many = "dugout, Firestore API, 10000 listeners"
  var listeners: Int
  var name: String { listeners == 1 ? Self.one : Self.many }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let firestore = try Firestore.open(at: directory.appendingPathComponent("store"))
    let alone = try Firestore.open(at: directory.appendingPathComponent("alone"))
    let users = firestore.collection("users")
    let first = DispatchGroup()
    for number in 1..<max(listeners, 1) {
      first.enter()
      let called = Once(first)
      users.whereField("city", isEqualTo: "Nowhere \(number)").addSnapshotListener { _, _ in called.leave() }
    }
    first.wait()
    let notified = DispatchSemaphore(value: 0)
    let seen = LastNotified()
    users.whereField("city", isEqualTo: "Here").addSnapshotListener { snapshot, _ in
      seen.note(snapshot?.documentChanges.first?.document.documentID)
      notified.signal()
    }
    notified.wait()
    let clock = ContinuousClock()
    var (writes, callbacks): ([Double], [Double]) = ([], [])
    for number in 0..<Listening.count(context) / 3 {
      let id = "user-\(number)"
      let data: [String: Any] = ["city": "Here", "number": number, "name": "Person \(number)"]
      func writeAlone() {
        let start = clock.now
        alone.collection("users").document(id).setData(data) { _ in notified.signal() }
        notified.wait()
        writes.append((clock.now - start) / .microseconds(1))
      }
      if number % 2 == 0 { writeAlone() }
      let start = clock.now
      users.document(id).setData(data)
      notified.wait()
      callbacks.append((clock.now - start) / .microseconds(1))
      try seen.require(id)
      if number % 2 == 1 { writeAlone() }
    }
    try Waiting.run { try await firestore.terminate() }
    try Waiting.run { try await alone.terminate() }
    return ["alone_p50_us": writes.median, "callback_p50_us": callbacks.median]
  }

  /// Leaves a dispatch group at the first of many calls. All calls run on the main queue.
  private final class Once: @unchecked Sendable {
    // After the initialiser, used on the main queue only.
    private var group: DispatchGroup?

    init(_ group: DispatchGroup) { self.group = group }

    func leave() {
      group?.leave()
      group = nil
    }
  }
}

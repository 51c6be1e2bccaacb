// The cost of Ballcap on top of the Firestore API. W19 and W6 run through both APIs, in alternating blocks on
// one database. This file also measures lists of 1,000 and 10,000 documents with 1,000 changes per second,
// and the cost of Pring's objects (LayerObjects).

import Ballcap
import BenchmarkReports
import FirebaseFirestore
import Foundation
import SampleDocuments

/// The model that the reads decode, with the fields of `SampleFields`.
private struct Sample: Codable, Modelable {
  struct Address: Codable, Equatable {
    var city = ""
    var country = ""
    var street = ""
    var zip = ""
  }

  static var name: String { "users" }

  var active = false
  var address = Address()
  var age = 0
  var bio = ""
  var city = ""
  var createdAt = Timestamp(seconds: 0, nanoseconds: 0)
  var email = ""
  var name = ""
  var score = 0.0
  var tags: [String] = []
  var visits = 0

  /// Visits every field.
  var weight: Int {
    let texts =
      [address.city, address.country, address.street, address.zip, bio, city, email, name] + tags
    return texts.reduce(0) { $0 &+ $1.utf8.count } &+ (active ? 1 : 0) &+ age &+ createdAt.microseconds
      &+ Int(score) &+ visits
  }
}

/// The fields of list documents.
private struct Person: Codable, Modelable {
  static var name: String { "people" }

  var name = ""
  var email = ""
  var city = ""
  var age = 0
  var score = 0.0
  var isActive = false
  var tags: [String] = []

  init() {}

  init(_ number: Int) {
    name = "Person \(number)"
    email = "person\(number)@example.com"
    city = "Town \(number % 50)"
    age = number % 90
    score = Double(number &* 48_271 % 100_000) / 100
    isActive = number % 3 == 0
    tags = ["tag\(number % 7)", "tag\(number % 11)"]
  }
}

private func open(_ directory: URL, _ count: Int) async throws -> CollectionReference {
  let name = "benchmark-\(UUID().uuidString)"
  FirebaseApp.configure(name: name, options: FirebaseOptions(directory: directory))
  guard let app = FirebaseApp.app(name: name) else { throw BenchmarkFailure("the app was just made") }
  let firestore = Firestore.firestore(app: app)
  let settings = FirestoreSettings()
  // Callbacks use a queue of their own instead of the main queue.
  settings.dispatchQueue = DispatchQueue(label: "callbacks")
  settings.durability = .buffered
  firestore.settings = settings
  let people = firestore.collection("people")
  for start in stride(from: 0, to: count, by: 500) {
    let batch = Batch(firestore: firestore)
    for number in start..<min(start + 500, count) {
      batch.save(Document<Person>(id: "\(number)", from: Person(number), collectionReference: people))
    }
    try await batch.commit()
  }
  return people
}

enum Layers: Workload {
  static let name = "layers"
  static let title = "what Ballcap adds to the API below it"
  static let goals: [Goal] =
    [
      ("awaited get", "W19_get_ratio"), ("awaited get on an actor", "W19_actor_ratio"),
      ("query of 20", "W6_limit20_ratio"), ("query of 1,000", "W6_limit1000_ratio"),
    ].map { title, metric in
      Goal(
        title: "\(title), Ballcap relative to Firestore", engine: "firestore and ballcap", metric: metric,
        measure: .absolute, bound: 1.15)
    } + [
      // The frame time of a screen at 60 Hz.
      Goal(
        title: "live list of 10,000: 99 of 100 changes arrive within",
        engine: "a live list of 10000", metric: "ballcap_p99_us", measure: .absolute, bound: 16_667)
    ]
  static let engines: [any Engine] = [
    Reads(), Objects(), Lists(documents: 1000), Lists(documents: 10_000),
  ]

  /// An actor for the reads of the benchmark, in the role that the main actor has in an app.
  @globalActor actor Screen {
    static let shared = Screen()
  }

  /// One of the two APIs, and the time that it has taken so far.
  private struct Side {
    var run: nonisolated(nonsending) (Int) async throws -> Int
    var time = Duration.zero
    var sum = 0
  }

  struct Reads: Engine {
    let name = "firestore and ballcap"

    /// Uses the store and the queries of W5 and W6.
    func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
      let documents = context.options.documents
      return try PublicReads.withFirestore(context) { firestore in
        let places = (0..<2000).map {
          firestore.document(SampleDocument(ReadQuery.number($0, below: documents)).path)
        }
        return try Waiting.run {
          var results = try await Self.compareGets("W19_get", places)
          results.merge(try await Self.compareGetsOnAnActor(places)) { $1 }
          let users = firestore.collection("users").order(by: "score")
          for limit in [20, 1000] { results.merge(try await Self.compareQueries(users, limit)) { $1 } }
          return results
        }
      }
    }

    @Screen private static func compareGetsOnAnActor(
      _ places: [DocumentReference]
    ) async throws -> [String: Double] {
      try await compareGets("W19_actor", places)
    }

    nonisolated(nonsending) private static func compareGets(
      _ metric: String, _ places: [DocumentReference]
    ) async throws -> [String: Double] {
      try await compare(
        metric, 200, 100,
        Side { index in
          let place = places[index % places.count]
          return try await place.getDocument().data(as: Sample.self).weight
        },
        Side { index in
          let place = places[index % places.count]
          return try await Document<Sample>.get(documentReference: place)?.data?.weight
            ?? -1
        })
    }

    nonisolated(nonsending) private static func compareQueries(
      _ users: FirebaseFirestore.Query, _ limit: Int
    ) async throws -> [String: Double] {
      let queries = (0..<100).map { users.start(at: [ReadQuery.score($0)]).limit(to: limit) }
      let objects = queries.map { DataSource<Document<Sample>>.Query($0) }
      return try await compare(
        "W6_limit\(limit)", limit == 20 ? 100 : 20, limit == 20 ? 20 : 2,
        Side { index in
          try await queries[index % queries.count].getDocuments().documents.reduce(0) {
            try $0 &+ $1.data(as: Sample.self).weight
          }
        },
        Side { index in
          let source = objects[index % objects.count].dataSource()
          try await source.get()
          return source.documents.reduce(0) { $0 &+ ($1.data?.weight ?? -1) }
        })
    }

    /// Runs Firestore and Ballcap in alternating blocks.
    nonisolated(nonsending) private static func compare(
      _ metric: String, _ blocks: Int, _ size: Int, _ firestore: Side, _ ballcap: Side
    ) async throws -> [String: Double] {
      var sides = [firestore, ballcap]
      let clock = ContinuousClock()
      for block in -2..<blocks {
        for side in block % 2 == 0 ? [0, 1] : [1, 0] {
          let start = clock.now
          var sum = 0
          for index in 0..<size { sum &+= try await sides[side].run((block + 2) &* size &+ index) }
          guard block >= 0 else { continue }
          sides[side].time += clock.now - start
          sides[side].sum &+= sum
        }
      }
      guard sides[0].sum == sides[1].sum else { throw BenchmarkFailure("\(metric): the answers differ") }
      let times = sides.map { $0.time / .microseconds(1) / Double(blocks * size) }
      return [
        "\(metric)_firestore_us": times[0], "\(metric)_ballcap_us": times[1],
        "\(metric)_ratio": times[1] / times[0],
      ]
    }
  }

  /// Makes a thousand changes per second for some seconds. Measures the time from each write to its callback
  /// through both APIs, and the processor time that the process uses per change.
  struct Lists: Engine {
    var documents: Int
    var name: String { "a live list of \(documents)" }

    func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
      let changes = context.options.documents < 10_000 ? 500 : 5000
      var results: [String: Double] = [:]
      for layer in ["firestore", "ballcap"].shuffled() {
        let (count, folder) = (documents, directory.appendingPathComponent(layer))
        let people = try Waiting.run { try await open(folder, count) }
        let deliveries = DeliveryTimes(changes)
        let query = people.order(by: "score")
        var source: DataSource<Document<Person>>?
        var registration: (any ListenerRegistration)?
        if layer == "ballcap" {
          source = DataSource<Document<Person>>.Query(query).dataSource()
            .onChanged { _, snapshot in
              deliveries.recordDelivery(
                snapshot.changes.modifications.map { $0.data?.age ?? -1 }, snapshot.indices.modifications)
            }
            .listen()
        } else {
          registration = query.addSnapshotListener { snapshot, _ in
            let changes = snapshot?.documentChanges ?? []
            deliveries.recordDelivery(
              changes.compactMap { change in
                change.type == .modified ? (try? change.document.data(as: Person.self))?.age : nil
              }, changes.map { Int($0.newIndex) })
          }
        }
        deliveries.waitForStart()
        let used = processMicroseconds
        let clock = ContinuousClock()
        let start = clock.now
        for number in 0..<changes {
          let due = start + .milliseconds(number)
          if clock.now < due { Thread.sleep(forTimeInterval: (due - clock.now) / .seconds(1)) }
          deliveries.begin(number)
          people.document("\(number &* 48_271 % count)").updateData([
            "age": 1_000_000 + number, "score": Double(number &* 31 % 100_000) / 100,
          ])
        }
        deliveries.waitForAll()
        results["\(layer)_p50_us"] = deliveries.times.median
        results["\(layer)_p99_us"] = deliveries.times.sorted()[deliveries.times.count * 99 / 100]
        results["\(layer)_processor_us_per_change"] = (processMicroseconds - used) / Double(changes)
        registration?.remove()
        source?.stop()
        try Waiting.run { try await people.firestore.terminate() }
      }
      return results
    }

    private var processMicroseconds: Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
  }

  /// The start time of each change, and the time from there to its callback.
  private final class DeliveryTimes: @unchecked Sendable {
    // Guarded by the lock.
    private let lock = NSLock()
    private let clock = ContinuousClock()
    private var startTimes: [ContinuousClock.Instant]
    private var deliveryCount = 0
    private(set) var times: [Double] = []
    private let started = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let count: Int

    init(_ count: Int) {
      self.count = count
      startTimes = Array(repeating: clock.now, count: count)
    }

    func begin(_ number: Int) { lock.withLock { startTimes[number] = clock.now } }

    func recordDelivery(_ ages: [Int], _ indices: [Int]) {
      let isFirst = lock.withLock {
        defer { deliveryCount += 1 }
        let now = clock.now
        for age in ages where age >= 1_000_000 {
          times.append((now - startTimes[age - 1_000_000]) / .microseconds(1))
        }
        if times.count == count { ended.signal() }
        return deliveryCount == 0
      }
      if isFirst { started.signal() }
    }

    func waitForStart() { started.wait() }

    func waitForAll() { ended.wait() }
  }
}

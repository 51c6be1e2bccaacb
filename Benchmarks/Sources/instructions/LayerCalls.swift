// Counts the instructions of the layers above the engine and above the API. The benchmarks have the costs of
// these layers as ratios, which grow when the engine gets faster.

import Ballcap
import Dispatch
import DocumentStore
import FirebaseFirestore
import InstructionCounts
import OfflineSync
import SampleDocuments

/// The sample document as a Ballcap model.
private struct SampleModel: Codable, Modelable {
  typealias Address = SampleUser.Address

  static var name: String { "users" }

  var active = false
  var address = Address(city: "", country: "", street: "", zip: "")
  var age = 0
  var bio = ""
  var city = ""
  var createdAt = Timestamp(seconds: 0, nanoseconds: 0)
  var email = ""
  var name = ""
  var score = 0.0
  var tags: [String] = []
  var visits = 0
}

struct LayerCalls {
  private static let (gets, saves) = (4000, 2000)
  private static let (liveQueries, commits) = (1000, 1000)

  private let stores: PreparedStores
  private let documents = PreparedStores.documents

  init(_ stores: PreparedStores) { self.stores = stores }

  // MARK: Reading

  /// `W21-view` minus `W21-store` is the cost of the local view.
  func views() throws {
    let store = try stores.open(stores.readStore).store
    let view = LocalView(over: store)
    let keys = try (0..<Self.gets).map { index in
      try SampleStore.key(SampleDocument.parameter(index, below: documents))
    }
    try countSecondRun(.storeGet, keys.count) {
      try keys.reduce(0) { try $0 &+ (store.document(at: $1)?.fields.count ?? -1) }
    }
    try countSecondRun(.viewGet, keys.count) {
      try keys.reduce(0) { try $0 &+ (view.document(at: $1).document?.fields.count ?? -1) }
    }
    try store.close()
  }

  /// Compare with `read(as:)` and with `setData-Codable`.
  func ballcap(_ firestore: Firestore) throws {
    let references = (0..<Self.gets).map { index in
      firestore.document(SampleDocument(SampleDocument.parameter(index, below: documents)).path)
    }
    try countSecondRun(.ballcapRead, references.count) {
      try references.reduce(0) { sum, reference in
        let document = try Ballcap.Document<SampleModel>(snapshot: reference.read())
        return sum &+ (document.data?.visits ?? -1)
      }
    }
    let warmUp = 500
    let users = try (0..<warmUp + Self.saves).map { number in
      let snapshot = try firestore.document(SampleDocument(number).path).read()
      return try Ballcap.Document<SampleModel>(snapshot: snapshot)
    }
    func save(_ users: some Collection<Ballcap.Document<SampleModel>>) {
      let batch = Batch(firestore: firestore)
      for user in users { batch.save(user) }
    }
    save(users.prefix(warmUp))
    try count(.ballcapSave, Self.saves) { save(users.dropFirst(warmUp)) }
  }

  // MARK: Writing

  /// Commits documents of a store with live queries for other documents. Compare with `W1`.
  func watchedCommits() throws {
    let sample = try stores.open(stores.newStore("watched"))
    try sample.makeIndexes()
    let (first, warmUp) = (1000, 200)
    for batch in try PreparedStores.batches(0..<first) { try sample.store.commit(batch) }
    // Otherwise the queries would create an index, which `W1` does not have.
    sample.store.createsIndexes = false
    let queue = DispatchQueue(label: "listeners")
    for number in 0..<Self.liveQueries {
      _ = try sample.store.listen(to: Self.unconcerned(number), on: queue) { _ in }
    }
    queue.sync {}
    let writes = try (first..<first + warmUp + Self.commits).map { try SampleStore.writes([$0]) }
    for write in writes.prefix(warmUp) { try sample.store.commit(write) }
    try count(.watchedCommit, Self.commits) {
      for write in writes.dropFirst(warmUp) { try sample.store.commit(write) }
    }
    try sample.store.close()
  }

  /// A query whose value, range or collection is never written.
  private static func unconcerned(_ number: Int) throws -> StructuredQuery {
    let users = try CollectionPath(["users"])
    let score = try StoredFieldPath(["score"])
    switch number % 3 {
    case 0:
      return try StructuredQuery(.collection(users)).filtered(
        by: .field(StoredFieldPath(["city"]), .equal, .string("Nowhere \(number)")))
    case 1:
      return try StructuredQuery(.collection(users))
        .filtered(by: .field(score, .greaterThan, .double(100_000 + Double(number))))
        .filtered(by: .field(score, .lessThan, .double(100_001 + Double(number))))
    default: return StructuredQuery(.collection(try CollectionPath(["elsewhere\(number)"])))
    }
  }
}

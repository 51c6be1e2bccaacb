// Which writes are encoded without a tree, and that the tree would give the same mutations.

import Authority
import FirebaseCore
import Foundation
import Synchronization
import Testing

@testable import DocumentStore
@testable import FirebaseFirestore
@testable import OfflineSync

@Suite struct DirectWriteTests {
  private struct User: Codable {
    struct Address: Codable { var city = "Bern", zip = "3000" }
    var name = "Ada"
    var address = Address()
    var tags = ["x", "y"]
  }

  private struct Timed: Codable {
    var createdAt = Timestamp(seconds: 0, nanoseconds: 0)
    var inner = ["createdAt": 1]
    var name = "Ada"
    var updatedAt: Date? = Date(timeIntervalSince1970: 0)
  }

  private static let times = ComputedFields([
    ("createdAt", .serverTimestamp()), ("updatedAt", .serverTimestamp()),
  ])

  private static var data: [String: Any] {
    ["name": "Ada", "address": ["city": "Bern", "zip": "3000"], "tags": ["x", "y"], "seen": NSNull()]
  }

  /// An open database in memory.
  private static func open(_ remote: LoopbackRemote? = nil) async throws -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.acknowledgement = .local
    settings.remote = remote
    firestore.settings = settings
    try await firestore.document("rooms/first").setData(["n": 1])
    return firestore
  }

  private static func fields(of mutation: Mutation) -> StoredMap? {
    switch mutation.change {
    case .set(let fields, _), .patch(let fields, _, _): fields
    case .delete, .verify, .place: nil
    }
  }

  // MARK: Which writes

  /// Each write has a value that is no scalar.
  private static let writes: [(name: String, add: @Sendable (WriteBatch, DocumentReference) throws -> Void)] =
    [
      ("setData", { $0.setData(data, forDocument: $1) }),
      ("setData, merge", { $0.setData(data, forDocument: $1, merge: true) }),
      ("setData, mergeFields", { $0.setData(data, forDocument: $1, mergeFields: ["tags", "address.city"]) }),
      ("updateData", { $0.updateData(["tags": ["x"], "address.zip": "1", "n": 1], forDocument: $1) }),
      ("setData from", { try $0.setData(from: User(), forDocument: $1) }),
      ("setData from, merge", { try $0.setData(from: User(), forDocument: $1, merge: true) }),
      ("setData from, mergeFields", { try $0.setData(from: User(), forDocument: $1, mergeFields: ["tags"]) }),
      ("setReported", { $0.setReported(data, forDocument: $1) }),
      (
        "mergeReported",
        { $0.mergeReported([(["address", "zip"], "1"), (["tags"], ["y"])], forDocument: $1) }
      ),
      (
        "setFields, merge",
        { $0.setFields(try UserData.patch(from: data, in: $0.firestore), forDocument: $1, merge: true) }
      ),
      (
        "setFields of a model with times",
        {
          let fields = try Firestore.Encoder().encodeFields(User(), in: $0.firestore, computing: times)
          $0.setFields(fields, forDocument: $1)
        }
      ),
      (
        "updateFields of a model with times",
        {
          let fields = try Firestore.Encoder().encodeFields(User(), in: $0.firestore, computing: times)
          $0.updateFields(fields, forDocument: $1)
        }
      ),
      (
        "setFields of a model that declares the times",
        {
          let fields = try Firestore.Encoder().encodeFields(Timed(), in: $0.firestore, computing: times)
          $0.setFields(fields, forDocument: $1)
        }
      ),
    ]

  @Test func writesOfBatchesAreRecords() async throws {
    let firestore = try await Self.open()
    for (name, add) in Self.writes {
      let batch = firestore.batch()
      try add(batch, firestore.document("rooms/eros"))
      let mutation = try #require(batch.state.withLock { $0.mutations.first?.mutation })
      #expect(Self.fields(of: mutation)?.record != nil, Comment(rawValue: name))
    }
    try await firestore.terminate()
  }

  @Test func fieldsThatTheCommitComputesAreNotWritten() async throws {
    struct Invalid: Codable { var createdAt = Double.infinity }
    struct Other: Codable { var createdAt = ["a": 1], name = "Ada" }
    let firestore = try await Self.open()
    for value in [Timed(), Other()] as [any Encodable] {
      let direct = try Firestore.Encoder().encodeFields(value, in: firestore, computing: Self.times)
      let tree = try Firestore.Encoder().encodeFields(value, computing: Self.times)
      #expect(direct.fields == tree.fields)
      #expect(direct.fields["createdAt"] == nil && direct.fields["name"] == .string("Ada"))
      #expect(direct.sentinels.map(\.path) == [["createdAt"], ["updatedAt"]])
      #expect(tree.sentinels.map(\.path) == [["createdAt"], ["updatedAt"]])
    }
    #expect(throws: EncodingError.self) {
      try Firestore.Encoder().encodeFields(Invalid(), in: firestore, computing: Self.times)
    }
    try await firestore.terminate()
  }

  /// The writes of a transaction that is never committed.
  private final class Recorded: TransactionBase {
    let mutations = Mutex<[Mutation]>([])
    var failure: (any Error)? { nil }
    func document(at path: DocumentPath) throws -> StoredDocument? { nil }
    func write(_ mutation: Mutation) throws { mutations.withLock { $0.append(mutation) } }
    func commitWrites() throws {}
    func end() {}
  }

  @Test func writesOfTransactionsAreRecords() async throws {
    let firestore = try await Self.open()
    let recorded = Recorded()
    let transaction = Transaction(firestore, recorded)
    let room = firestore.document("rooms/eros")
    transaction.setData(Self.data, forDocument: room)
    transaction.setData(Self.data, forDocument: room, merge: true)
    transaction.setData(Self.data, forDocument: room, mergeFields: ["tags"])
    transaction.updateData(["tags": ["x"]], forDocument: room)
    try transaction.setData(from: User(), forDocument: room)
    try transaction.setData(from: User(), forDocument: room, merge: true)
    let mutations = recorded.mutations.withLock { $0 }
    #expect(mutations.count == 6)
    #expect(mutations.allSatisfy { Self.fields(of: $0)?.record != nil })
    try await firestore.terminate()
  }

  @Test func theQueueOfARemoteHoldsRecords() async throws {
    let firestore = try await Self.open(try LoopbackRemote(authority: try DocumentStore.openInMemory()))
    try await firestore.waitForPendingWrites()
    try await firestore.disableNetwork()
    let room = firestore.document("rooms/eros")
    try await room.setData(Self.data)
    try await room.updateData(["tags": ["z"]])
    let batches = try await firestore.client().pendingWrites().map(\.batch)
    #expect(batches.count == 2)
    for mutation in batches.flatMap(\.mutations) {
      #expect(Self.fields(of: mutation.mutation)?.record != nil)
    }
    let read = try await room.getDocument()
    #expect(read.get("tags") as? [String] == ["z"])
    #expect(read.get("address.city") as? String == "Bern")
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(try await room.getDocument(source: .server).get("address.zip") as? String == "3000")
    try await firestore.terminate()
  }

  @Test func updatesDoNotCreateShapes() async throws {
    let firestore = try await Self.open()
    let shapes = try #require(firestore.fieldsEncoder?.shapes)
    let before = shapes.version
    for number in 0..<50 {
      for _ in 0..<3 {
        let fields: [String: Any] = ["list\(number)": ["x"], "map\(number)": ["key\(number)": 1]]
        firestore.batch().updateData(fields, forDocument: firestore.document("rooms/eros"))
          .setData(fields, forDocument: firestore.document("rooms/eros"), merge: true)
      }
    }
    #expect(shapes.version == before)
    try await firestore.terminate()
  }

  // MARK: Depth

  /// Tens of thousands of maps, each in the next.
  private final class Deep {
    var map: [String: Any] = ["x": 1]

    init() { for _ in 0..<30_000 { map = ["m": map] } }

    /// Releases one map after the other. Releasing the outermost one would release all others recursively.
    deinit {
      while let inner = map.removeValue(forKey: "m") as? [String: Any] { map = inner }
    }
  }

  @Test func deeplyNestedMapsAreAnErrorOfTheWrite() async throws {
    let firestore = try await Self.open()
    let deep = Deep()
    let room = firestore.document("rooms/eros")
    let encoder = try #require(firestore.fieldsEncoder)
    #expect(DictionaryWriter.fields(deep.map, with: encoder, in: firestore) == nil)
    #expect(throws: UserDataError.self) { try UserData.fields(from: deep.map, in: firestore) }
    let adds: [(WriteBatch) -> Void] = [
      { $0.setData(deep.map, forDocument: room) }, { $0.setData(deep.map, forDocument: room, merge: true) },
      { $0.setData(deep.map, forDocument: room, mergeFields: ["m"]) },
      { $0.updateData(deep.map, forDocument: room) },
      { $0.updateData(["list": [deep.map]], forDocument: room) },
    ]
    for add in adds {
      let batch = firestore.batch()
      add(batch)
      let error = #expect(throws: (any Error).self) { try batch.validate() }
      #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
    try await firestore.terminate()
  }

  // MARK: Comparison with the tree

  private struct Values {
    var rng = SplitMix64(seed: 77)
    let names = ["a", "b", "name", "e\u{301}", "_x", "zz", "a field with a long name"]

    mutating func roll(_ sides: Int) -> Int { Int(rng.next() % UInt64(sides)) }

    mutating func value(_ depth: Int) -> Any {
      switch roll(depth > 0 ? 14 : 10) {
      case 0: return "text"
      case 1: return roll(1000)
      case 2: return Double(roll(100)) / 7
      case 3: return roll(2) == 0
      case 4: return NSNull()
      case 5: return Date(timeIntervalSince1970: Double(roll(1000)) / 3)
      case 6: return ["x", "y"]
      case 7: return FieldValue.increment(Int64(roll(5)))
      case 8: return FieldValue.serverTimestamp()
      case 9: return Float(0.5)
      case 10: return [["n": roll(3)], [:]] as [[String: Any]]
      default: return map(depth - 1)
      }
    }

    mutating func map(_ depth: Int) -> [String: Any] {
      var map: [String: Any] = [:]
      for _ in 0..<roll(5) { map[names[roll(names.count)]] = value(depth) }
      return map
    }

    mutating func updates(_ depth: Int) -> [DictionaryWriter.FieldUpdate] {
      var paths: [StoredFieldPath] = []
      for _ in 0...roll(5) {
        let path = StoredFieldPath(unchecked: (0...roll(3)).map { _ in names[roll(names.count)] })
        if !paths.contains(where: { $0.isPrefix(of: path) || path.isPrefix(of: $0) }) { paths.append(path) }
      }
      return paths.sorted().map { path in
        var value = value(depth)
        if value is FieldValue { value = "no field value" }
        return (path, value)
      }
    }
  }

  /// Checks that a mutation has the same result as the one of the tree, on a record and on entries.
  private func compare(_ direct: Mutation, _ tree: Mutation, _ shapes: ShapeDictionary, _ comment: Comment)
    throws
  {
    #expect(direct == tree, comment)
    let base = try UserData.fields(from: ["a": ["b": 1, "name": "x"], "b": [1], "name": "y"], in: nil).fields
    let time = StoredTimestamp.epoch
    for fields in [StoredMap(FieldsEncoder.record(of: base, shapes: shapes)), StoredMap()] {
      let document = StoredDocument(path: direct.path, createTime: time, updateTime: time, fields: fields)
      let plain = StoredDocument(
        path: direct.path, createTime: time, updateTime: time, fields: StoredMap(fields.entries))
      let outcome = try direct.outcome(on: document, at: time, updated: nil, shapes: shapes)
      #expect(try outcome == tree.outcome(on: plain, at: time), comment)
    }
  }

  @Test func updatesAndMergesAreEncodedLikeTrees() throws {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    let encoder = FieldsEncoder(shapes).forPatches
    let path = try DocumentPath(["rooms", "eros"])
    var values = Values()
    var records = 0
    for round in 0..<1500 {
      let comment = Comment(rawValue: "round \(round)")
      // Gives shapes to some maps.
      _ = DictionaryWriter.fields(values.map(2), with: FieldsEncoder(shapes), in: nil)
      let updates = values.updates(2)
      var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
      var transforms: [FieldTransform] = []
      for (field, value) in updates {
        let (stored, sentinels) = try UserData.value(from: value, at: field.names, in: nil)
        changes.append((field, .set(stored ?? .map(StoredMap()))))
        for (names, sentinel) in sentinels {
          let operation = try #require(try sentinel.operation(in: nil))
          transforms.append(FieldTransform(StoredFieldPath(unchecked: names), operation))
        }
      }
      let tree = try Mutation.update(path, changes, transforms: transforms)
      let direct = try #require(DictionaryWriter.fields(updates, with: encoder, in: nil), comment)
      #expect(direct.fields.record != nil)
      let inner = try direct.sentinels.map { names, sentinel in
        FieldTransform(StoredFieldPath(unchecked: names), try #require(try sentinel.operation(in: nil)))
      }
      let patch = Mutation.patch(
        path, direct.fields, mask: FieldMask(updates.map(\.field)), transforms: inner,
        precondition: .exists(true))
      try compare(patch, tree, shapes, comment)

      let map = values.map(2)
      let merged = try UserData.fields(from: map, in: nil).fields
      guard let fields = DictionaryWriter.fields(map, with: encoder, in: nil)?.fields else { continue }
      records += 1
      #expect(fields.names == merged.entries.map(\.name), comment)
      try compare(.merge(path, fields), .merge(path, merged), shapes, comment)
    }
    #expect(records > 1000)
  }

  @Test func scalarsAreStoredLikeTrees() throws {
    let values: [Any] = [
      "text", "", 1, Int.min, 1.5, Double.nan, -0.0, true, false, Int64.max, NSNull(),
      Timestamp(seconds: 1, nanoseconds: 2_345_678), Date(timeIntervalSince1970: 0.1234567),
    ]
    for value in values {
      #expect(UserData.scalar(value) == (try UserData.stored(from: value, in: nil)), "\(value)")
    }
    let others: [Any] = [[1], ["a": 1], UInt8(1), NSNumber(value: 1), Date(timeIntervalSince1970: 1e13)]
    for value in others { #expect(UserData.scalar(value) == nil, "\(value)") }
  }
}

// Models that read and write their own fields, compared with models that have coding keys.

import Ballcap
import FirebaseFirestore
import Foundation
import LayerHarness
import Synchronization
import Testing

private struct Place: Codable, Equatable {
  var floor = 0
  var room: String?
}

/// A model with coding keys.
private struct PlainSensor: Codable, Modelable {
  static var name: String { "plain" }

  var label = ""
  var limit = 0
  var celsius = 0.0
  var isOn = false
  var tags: [String] = []
  var place = Place()
  var note: String?
  var reads: IncrementableInt = 0
  var seen: ServerTimestamp = .pending
}

/// A model with the same fields, which reads and writes them itself. It counts its reads and writes, and
/// those of them that go straight to the bytes of a document.
private struct Sensor: Codable, Modelable, FirestoreRecordDecodable, FirestoreRecordEncodable {
  static var name: String { "own" }
  static let reads = Atomic<Int>(0)
  static let recordReads = Atomic<Int>(0)
  static let writes = Atomic<Int>(0)
  static let recordWrites = Atomic<Int>(0)

  var plain = PlainSensor()

  init() {}
  init(_ plain: PlainSensor) { self.plain = plain }

  init(from fields: inout FieldReader) throws {
    Self.reads.add(1, ordering: .relaxed)
    if fields.readsRecord { Self.recordReads.add(1, ordering: .relaxed) }
    plain.label = try fields.decode("label")
    plain.limit = try fields.decode("limit")
    plain.celsius = try fields.decode("celsius")
    plain.isOn = try fields.decode("isOn")
    plain.tags = try fields.decode("tags")
    plain.place = try fields.decode("place")
    plain.note = try fields.decodeIfPresent("note")
    plain.reads = try fields.decode("reads")
    plain.seen = try fields.decode("seen")
  }

  func encode(to fields: inout FieldWriter) throws {
    Self.writes.add(1, ordering: .relaxed)
    if fields.writesRecord { Self.recordWrites.add(1, ordering: .relaxed) }
    try fields.encode(plain.label, as: "label")
    try fields.encode(plain.limit, as: "limit")
    try fields.encode(plain.celsius, as: "celsius")
    try fields.encode(plain.isOn, as: "isOn")
    try fields.encode(plain.tags, as: "tags")
    try fields.encode(plain.place, as: "place")
    try fields.encodeIfPresent(plain.note, as: "note")
    try fields.encode(plain.reads, as: "reads")
    try fields.encode(plain.seen, as: "seen")
  }
}

extension BallcapTests {
  @Suite final class RecordModels {
    private let app = TestApp()

    private struct Counts: Equatable {
      var reads = 0
      var recordReads = 0
      var writes = 0
      var recordWrites = 0

      /// The counts since the program started.
      static var now: Counts {
        Counts(
          reads: Sensor.reads.load(ordering: .relaxed),
          recordReads: Sensor.recordReads.load(ordering: .relaxed),
          writes: Sensor.writes.load(ordering: .relaxed),
          recordWrites: Sensor.recordWrites.load(ordering: .relaxed))
      }
    }

    /// Opens the database. Before that, its shapes are unknown, and a write is encoded as a tree.
    private func open() async throws {
      _ = try await Firestore.firestore().document("any/document").getDocument()
    }

    /// Runs a step and requires that the model was read and written this often, always as bytes.
    private func step(
      _ name: String, reads: Int = 0, writes: Int = 0, _ body: () async throws -> Void
    ) async throws {
      let before = Counts.now
      try await body()
      let after = Counts.now
      #expect(after.reads - before.reads == reads, "reads by \(name)")
      #expect(after.recordReads - before.recordReads == reads, "reads of bytes by \(name)")
      #expect(after.writes - before.writes == writes, "writes by \(name)")
      #expect(after.recordWrites - before.recordWrites == writes, "writes of bytes by \(name)")
    }

    /// The stored fields, apart from the times of the commit, which differ between two documents.
    private func fields(_ reference: DocumentReference) async throws -> NSDictionary {
      var data = try #require(try await reference.getDocument().data())
      for name in ["createdAt", "updatedAt", "seen"] {
        #expect(data[name] is Timestamp, "\(name) at \(reference.path)")
        data[name] = nil
      }
      return data as NSDictionary
    }

    private func expectSame(_ id: String) async throws {
      let own = try await fields(Document<Sensor>(id: id).documentReference)
      #expect(own == (try await fields(Document<PlainSensor>(id: id).documentReference)))
      #expect(own["label"] is String)
      let found = try #require(try await Document<Sensor>.get(id: id)?.data?.plain)
      let expected = try #require(try await Document<PlainSensor>.get(id: id)?.data)
      #expect(found.seen != .pending)
      #expect(found.with(seen: expected.seen) == expected)
    }

    @Test func modelThatReadsAndWritesItsFieldsIsSavedAndReadAsBytes() async throws {
      try await open()
      var sensor = PlainSensor(
        label: "Küche", limit: -3, celsius: 20.5, isOn: true, tags: ["a", "b"],
        place: Place(floor: 2, room: "201"))
      let own = Document<Sensor>(id: "s", from: Sensor(sensor))
      let plain = Document<PlainSensor>(id: "s", from: sensor)
      try await step("save", writes: 1) { try await own.save() }
      try await plain.save()
      try await expectSame("s")

      // An update without the optional field, and with a field that the commit computes.
      (sensor.note, sensor.reads, sensor.celsius) = ("warm", .increment(2), .pi)
      (own.data, plain.data) = (Sensor(sensor), sensor)
      try await step("update", writes: 1) { try await own.update() }
      try await plain.update()
      try await expectSame("s")
      #expect(try await Document<Sensor>.get(id: "s")?.data?.plain.reads == 2)

      try await step("batch", writes: 2) {
        try await Batch().save(own, merge: true).save(
          own, reference: Sensor.collectionReference.document("t")
        )
        .commit()
      }
      try await Batch().save(plain, merge: true)
        .save(plain, reference: PlainSensor.collectionReference.document("t")).commit()
      try await expectSame("t")

      try await step("get(id:)", reads: 1) { _ = try await Document<Sensor>.get(id: "s") }
      try await step("get", reads: 1) { try await own.get() }
      try await step("cache", reads: 1) { #expect(Document<Sensor>(id: "s").cache?.plain.label == "Küche") }
      try await step("query", reads: 2) {
        let sensors = Document<Sensor>.order(by: "celsius").dataSource()
        try await sensors.get()
        #expect(sensors.map(\.id) == ["s", "t"])
      }
      // Each state of a listener is bytes.
      try await step("updates", reads: 2, writes: 1) {
        var limits: [Int] = []
        for try await found in Document<Sensor>.updates(id: "s") {
          limits.append(try #require(found?.data?.plain.limit))
          guard limits.count < 2 else { break }
          own.data?.plain.limit = 8
          try await own.update()
        }
        #expect(limits == [-3, 8])
      }
    }

    @Test func errorsAreThoseOfAModelWithCodingKeys() async throws {
      try await open()
      var errors: [[String]] = []
      for collection in [Sensor.collectionReference, PlainSensor.collectionReference] {
        try await Document<PlainSensor>(id: "s").save(reference: collection.document("s"))
        var found: [String] = []
        for (field, value) in [("label", 7), ("limit", "x"), ("place", [1]), ("tags", NSNull())]
          as [(String, Any)]
        {
          try await collection.document("bad").setData(
            (try await collection.document("s").getDocument().data() ?? [:]).merging([field: value]) { $1 })
          do {
            _ =
              collection == Sensor.collectionReference
              ? try await Document<Sensor>.get(id: "bad")?.id
              : try await Document<PlainSensor>.get(id: "bad")?.id
            found.append("\(field) was read")
          } catch {
            found.append(Self.text(of: error))
          }
        }
        errors.append(found)
      }
      #expect(errors[0] == errors[1])
      #expect(errors[0].count == 4 && !errors[0].contains { $0.hasSuffix("was read") })
    }

    /// The kind, the path and the message of a decoding error, without the type of the keys.
    private static func text(of error: any Error) -> String {
      switch error {
      case DecodingError.typeMismatch(let type, let context): "mismatch of \(type), \(text(of: context))"
      case DecodingError.valueNotFound(let type, let context): "no \(type), \(text(of: context))"
      case DecodingError.keyNotFound(let key, let context): "no \(key.stringValue), \(text(of: context))"
      default: "\(error)"
      }
    }

    private static func text(of context: DecodingError.Context) -> String {
      "\(context.codingPath.map(\.stringValue)): \(context.debugDescription)"
    }
  }
}

extension PlainSensor {
  fileprivate func with(seen: ServerTimestamp) -> PlainSensor {
    var copy = self
    copy.seen = seen
    return copy
  }
}

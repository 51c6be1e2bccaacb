// A document of about 290 bytes between messages and records, beside protobuf-c.
//
// protobuf-c unpacks a message into objects and packs objects into a message. Dugout reads a message into a
// record of a store, and writes a message from a record.

@_spi(Measure) import DocumentStore
@_spi(Measure) import FirestoreWire
import SampleDocuments

#if PROTOBUFC
import CDocumentMessages
#endif

enum CodecRows {
  private static let callsPerRound = 20_000
  private static let name = "projects/sample/databases/(default)/documents/users/ada"

  static func parts(in directory: String) throws -> [RowPart] {
    let store = try DocumentStore.open("\(directory)/codec")
    let path = try DocumentPath(["users", "ada"])
    let given = StoredMap(SampleDocument(2).fields.filter { !["bio", "name"].contains($0.name) }.map(entry))
    // Names that occur repeatedly get a shape, as in every store with more than a few documents.
    for _ in 0..<4 { try store.commit([.set(path, given)]) }
    let documents = MeasuredDocuments(store)
    guard let fields = try documents.fields(at: path) else {
      throw BenchmarkFailure("the sample document was not stored")
    }
    let message = try documents.protobuf(fields, name: name)
    let text = try documents.json(fields, name: name)
    guard try documents.fields(protobuf: message) == fields, try documents.fields(json: text) == fields else {
      throw BenchmarkFailure("the sample document does not survive the wire")
    }
    return [
      RowPart(
        title: "message of \(message.count) bytes → record",
        subjects: unpacking(message) + [
          subject("Dugout, protobuf") { try documents.fields(protobuf: message).count },
          subject("Dugout, JSON of \(text.count) bytes") { try documents.fields(json: text).count },
        ],
        goals: goals(ratioMax: 0.5)),
      RowPart(
        title: "record → message of \(message.count) bytes",
        subjects: try packing(message) + [
          subject("Dugout, protobuf") { try documents.protobuf(fields, name: name).count },
          subject("Dugout, JSON of \(text.count) bytes") { try documents.json(fields, name: name).count },
        ],
        goals: goals(ratioMax: 0.4)),
    ]
  }

  private static func subject(_ name: String, _ body: @escaping () throws -> Int) -> RowSubject {
    RowSubject(name: name) {
      let (time, sum) = try ThreadTime.perCall(callsPerRound, body)
      guard sum > 0 else { throw BenchmarkFailure("\(name) has done nothing") }
      return time
    }
  }

  private static func entry(_ field: SampleDocument.Field) -> StoredMap.Entry {
    (field.name, value(field.value))
  }

  private static func value(_ value: SampleDocument.Value) -> StoredValue {
    switch value {
    case .text(let text): .string(text)
    case .integer(let number): .integer(Int64(number))
    case .real(let number): .double(number)
    case .boolean(let flag): .boolean(flag)
    case .timestamp(let time): StoredTimestamp(microseconds: Int64(time)).map(StoredValue.timestamp) ?? .null
    case .list(let values): .array(values.map(Self.value))
    case .map(let fields): .map(StoredMap(fields.map(entry)))
    }
  }

  // MARK: protobuf-c

  #if PROTOBUFC
  private static func goals(ratioMax: Double) -> [RowGoal] {
    [RowGoal(subject: "Dugout, protobuf", ratioMax: ratioMax)]
  }

  private static func unpacking(_ message: [UInt8]) -> [RowSubject] {
    [subject("protobuf-c, unpack and free") { document_unpack(message, message.count) }]
  }

  private static func packing(_ message: [UInt8]) throws -> [RowSubject] {
    // Kept until the program ends.
    guard let document = document_open(message, message.count) else {
      throw BenchmarkFailure("protobuf-c does not read the sample document")
    }
    var buffer = [UInt8](repeating: 0, count: message.count)
    guard document_size(document) == message.count, document_pack(document, &buffer) == message.count else {
      throw BenchmarkFailure("protobuf-c writes the sample document with another size")
    }
    return [
      // As in a server: the size is computed, and the bytes belong to the caller.
      subject("protobuf-c, size and pack") {
        [UInt8](unsafeUninitializedCapacity: document_size(document)) { bytes, count in
          count = document_pack(document, bytes.baseAddress)
        }.count
      }
    ]
  }
  #else
  private static func goals(ratioMax: Double) -> [RowGoal] { [] }

  private static func unpacking(_ message: [UInt8]) -> [RowSubject] { missing }
  private static func packing(_ message: [UInt8]) throws -> [RowSubject] { missing }

  private static var missing: [RowSubject] {
    Progress.say("protobuf-c is not compared: its headers are not installed (libprotobuf-c-dev)")
    return []
  }
  #endif
}

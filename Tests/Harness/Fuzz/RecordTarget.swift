// Fuzzes document records: all readers agree about the bytes, and a valid document survives a round trip.
//
// Runs once without shapes and once with known shapes.

internal import DocumentStore

struct RecordTarget: FuzzTarget {
  static let name = "record"
  let seeds: [[UInt8]]
  private let path: DocumentPath
  private let plain: RecordComparison
  private let shaped: RecordComparison

  init(seed: UInt64) {
    guard let path = try? DocumentPath(["a", "b"]),
      let time = StoredTimestamp(seconds: 5, nanoseconds: 0)
    else { preconditionFailure("a good path and a good time") }
    self.path = path
    let empty = StoredDocument(path: path, createTime: time, updateTime: time, fields: StoredMap())
    plain = RecordComparison(empty, shapes: [])
    shaped = RecordComparison(empty, shapes: Self.shapes)
    let maps = [StoredMap(), Self.everyType(path, time), Self.nested(depth: 20)]
    let later = StoredTimestamp(seconds: 7, nanoseconds: 0) ?? time
    let documents = maps.flatMap {
      [
        StoredDocument(path: path, createTime: time, updateTime: time, fields: $0),
        StoredDocument(path: path, createTime: time, updateTime: later, fields: $0),
      ]
    }
    seeds = documents.flatMap { [$0.record, $0.record(shapes: Self.shapes)] }
  }

  /// The shapes of the maps in the seeds.
  private static let shapes = [
    [
      "array", "boolean", "bytes", "double", "geoPoint", "integer", "map", "null", "reference", "string",
      "timestamp", "vector",
    ], ["inner", "outer"], ["a"], ["m"],
  ]

  private static func everyType(_ path: DocumentPath, _ time: StoredTimestamp) -> StoredMap {
    StoredMap([
      ("null", .null), ("boolean", .boolean(true)), ("integer", .integer(-7)), ("double", .double(1.5)),
      ("timestamp", .timestamp(time)), ("string", .string("text")), ("bytes", .bytes([1, 2])),
      ("vector", .vector([1, 2])),
      ("reference", .reference(StoredReference(projectID: "p", databaseID: "d", path: path))),
      ("geoPoint", StoredGeoPoint(latitude: 1, longitude: 2).map(StoredValue.geoPoint) ?? .null),
      ("array", .array([.integer(1), .map(StoredMap([("a", .null)]))])),
      ("map", .map(StoredMap([("inner", .string("x")), ("outer", .map(StoredMap()))]))),
    ])
  }

  private static func nested(depth: Int) -> StoredMap {
    (0..<depth).reduce(StoredMap()) { inner, _ in StoredMap([("m", .map(inner))]) }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let answers = (try plain.answer(input), try shaped.answer(input))
    try writeAgain(input, shapes: [])
    try writeAgain(input, shapes: Self.shapes)
    return answers.0 == answers.1 ? answers.0 : "\(answers.0), with shapes \(answers.1)"
  }

  /// Writes a valid document again, and compares the copy with it.
  private func writeAgain(_ input: [UInt8], shapes: [[String]]) throws(FuzzFinding) {
    guard let document = try? StoredDocument(path: path, record: input, shapes: shapes) else { return }
    for record in [document.record, document.record(shapes: shapes)] {
      guard let again = try? StoredDocument(path: path, record: record, shapes: shapes) else {
        throw FuzzFinding("a document that was read cannot be read again")
      }
      guard again == document else { throw FuzzFinding("a document changes when it is written again") }
    }
  }
}

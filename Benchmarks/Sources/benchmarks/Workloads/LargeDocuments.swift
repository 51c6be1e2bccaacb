// W17: 35,000 documents of 50 fields, and an equality query that finds three of them and decodes them as
// Codable structs. The first run of the query also builds the index, and later runs use the index. SQLite
// stores the documents as JSON text, and its first run builds the index too.

import BenchmarkReports
import FirebaseFirestore
import SampleDocuments

enum LargeDocuments: Workload {
  static let name = "W17"
  static let title = "equality query over documents of 50 fields"
  static var engines: [any Engine] {
    var engines: [any Engine] = [FirestoreLarge()]
    #if SQLITE
    engines.append(SQLiteLarge())
    #endif
    return engines
  }
  static let goals = [
    Goal.ratio("query for 3 of 35,000 documents of 50 fields, as structs", "query_us", 0.2)
      .summarized(as: "query, 50 fields"),
    Goal.ratio("first query for documents of 50 fields, which builds its index", "first_query_ms", 0.5),
  ]

  fileprivate static let each = 3
  fileprivate static let queries = 300

  fileprivate static func count(_ context: RunContext) -> Int {
    min(35_000, context.options.documents) / each * each
  }

  /// Each serial occurs in three documents.
  fileprivate static func serial(_ number: Int, of count: Int) -> Int { number % (count / each) }

  fileprivate static func fields(_ number: Int, of count: Int) -> [SampleDocument.Field] {
    (0..<50).map { field in
      let bits = SampleDocument.mixed(UInt64(number * 64 + field))
      if field == 0 { return SampleDocument.Field("serial", .integer(serial(number, of: count))) }
      let value: SampleDocument.Value =
        switch field % 4 {
        case 0: .integer(Int(bits % 1_000_000))
        case 1: .text("text \(bits % 100_000) of field \(field)")
        case 2: .real(Double(bits % (1 << 26)) / 1024)
        default: .boolean(bits % 2 == 0)
        }
      return SampleDocument.Field("field\(field)", value)
    }
  }

  /// Measures the time of the first query, and the median time of the later queries.
  fileprivate static func run(
    _ engine: String, _ context: RunContext, _ query: (Int) throws -> [LargeDocument]
  ) throws -> [String: Double] {
    let count = count(context)
    let clock = ContinuousClock()
    var times: [Double] = []
    var sum = 0
    for index in 0...queries {
      let serial = index &* 7919 % (count / each)
      let start = clock.now
      let found = try query(serial)
      times.append((clock.now - start) / .microseconds(1))
      // Visits all fields, outside the timed part.
      guard found.count == each else {
        throw BenchmarkFailure("\(engine) finds \(found.count) documents, not \(each)")
      }
      sum &+= found.reduce(0) { $0 &+ $1.weight }
    }
    try context.answers.note("documents of 50 fields", sum, of: engine)
    return ["first_query_ms": times[0] / 1000, "query_us": Array(times.dropFirst()).median]
  }
}

private struct FirestoreLarge: Engine {
  let name = "dugout"

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let firestore = try Firestore.open(at: directory.appendingPathComponent("store"))
    let items = firestore.collection("items")
    let count = LargeDocuments.count(context)
    for start in stride(from: 0, to: count, by: 500) {
      let batch = firestore.batch()
      for number in start..<min(start + 500, count) {
        batch.setData(Self.data(number, of: count), forDocument: items.document("item-\(number)"))
      }
      try Waiting.run { try await batch.commit() }
    }
    let results = try LargeDocuments.run(name, context) { serial in
      try items.whereField("serial", isEqualTo: serial).read().documents.map {
        try $0.data(as: LargeDocument.self)
      }
    }
    try Waiting.run { try await firestore.terminate() }
    return results
  }

  private static func data(_ number: Int, of count: Int) -> [String: Any] {
    var data: [String: Any] = [:]
    for field in LargeDocuments.fields(number, of: count) {
      switch field.value {
      case .integer(let number): data[field.name] = number
      case .text(let text): data[field.name] = text
      case .real(let number): data[field.name] = number
      case .boolean(let flag): data[field.name] = flag
      default: break
      }
    }
    return data
  }
}

#if SQLITE
private struct SQLiteLarge: Engine {
  let name = "sqlite-json"

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let path = directory.appendingPathComponent("large.db").path
    let database = try SQLiteDatabase(path)
    defer { database.close() }
    try database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    try database.read(cacheBytes: context.options.cacheBytes)
    try database.lockForThisConnection()
    try database.run("CREATE TABLE items (id INTEGER PRIMARY KEY, path TEXT UNIQUE, data TEXT)")
    let count = LargeDocuments.count(context)
    try database.run("BEGIN")
    for number in 0..<count {
      try database.with("INSERT INTO items (path, data) VALUES (?, ?)") { insert in
        insert.bind(1, "items/item-\(number)")
        insert.bind(2, SampleJSON.text(LargeDocuments.fields(number, of: count)))
        _ = try insert.step()
      }
    }
    try database.run("COMMIT")
    let decoder = JSONDecoder()
    var hasIndex = false
    return try LargeDocuments.run(name, context) { serial in
      if !hasIndex { try database.run("CREATE INDEX bySerial ON items (json_extract(data, '$.serial'))") }
      hasIndex = true
      return try database.with("SELECT data FROM items WHERE json_extract(data, '$.serial') = ?") { select in
        select.bind(1, serial)
        var found: [LargeDocument] = []
        while try select.step() {
          found.append(try decoder.decode(LargeDocument.self, from: Data(select.blob(0))))
        }
        return found
      }
    }
  }
}
#endif

/// A document of 50 fields as a type that an app would declare, with the compiler's Codable conformance.
private struct LargeDocument: Codable {
  var serial: Int
  var field1: String, field2: Double, field3: Bool, field4: Int, field5: String, field6: Double, field7: Bool
  var field8: Int, field9: String, field10: Double, field11: Bool, field12: Int, field13: String,
    field14: Double
  var field15: Bool, field16: Int, field17: String, field18: Double, field19: Bool, field20: Int,
    field21: String
  var field22: Double, field23: Bool, field24: Int, field25: String, field26: Double, field27: Bool,
    field28: Int
  var field29: String, field30: Double, field31: Bool, field32: Int, field33: String, field34: Double
  var field35: Bool, field36: Int, field37: String, field38: Double, field39: Bool, field40: Int,
    field41: String
  var field42: Double, field43: Bool, field44: Int, field45: String, field46: Double, field47: Bool,
    field48: Int
  var field49: String

  var weight: Int {
    let integers = [
      serial, field4, field8, field12, field16, field20, field24, field28, field32, field36, field40,
      field44, field48,
    ]
    let texts = [
      field1, field5, field9, field13, field17, field21, field25, field29, field33, field37, field41,
      field45, field49,
    ]
    let reals = [
      field2, field6, field10, field14, field18, field22, field26, field30, field34, field38, field42,
      field46,
    ]
    let flags = [
      field3, field7, field11, field15, field19, field23, field27, field31, field35, field39, field43,
      field47,
    ]
    return integers.reduce(0, &+) &+ texts.reduce(0) { $0 &+ $1.utf8.count &+ Int($1.utf8.last ?? 0) }
      &+ reals.reduce(0) { $0 &+ Int($1) } &+ flags.count { $0 }
  }
}

#if SQLITE
internal import CSQLite
import Foundation

/// SQLite with a column for each field, which is its fastest form: WAL, a memory map, prepared statements.
final class SQLiteEngine: DocumentEngine {
  static let name = "sqlite"
  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  private static let columns = """
    name, email, age, score, active, createdAt, city, visits, tag0, tag1, tag2, street, addressCity, zip, country, bio
    """

  init(_ directory: URL) throws {
    guard sqlite3_open(directory.appendingPathComponent("sqlite.db").path, &database) == SQLITE_OK else {
      throw BenchmarkFailure("sqlite does not open")
    }
    try run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=4294967296;")
    try run("PRAGMA cache_size=-262144;")
    try run(
      """
      CREATE TABLE documents (path TEXT PRIMARY KEY, parent TEXT, name TEXT, email TEXT, age INT, score REAL,
      active INT, createdAt INT, city TEXT, visits INT, tag0 TEXT, tag1 TEXT, tag2 TEXT, street TEXT,
      addressCity TEXT, zip TEXT, country TEXT, bio TEXT) WITHOUT ROWID
      """)
  }

  func load(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 500) { try insert(start..<min(start + 500, count)) }
    try makeIndexes()
    try run("PRAGMA wal_checkpoint(TRUNCATE); ANALYZE;")
  }

  func makeIndexes() throws {
    try run("CREATE INDEX byScore ON documents (parent, score)")
    try run("CREATE INDEX byTown ON documents (parent, city, createdAt)")
    try run("CREATE INDEX byTime ON documents (createdAt)")
  }

  /// In one transaction.
  func insert(_ numbers: Range<Int>) throws {
    let insert = try statement(
      "INSERT INTO documents (path, parent, \(Self.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
    try run("BEGIN")
    for number in numbers {
      let row = SampleDocument.row(number)
      for (index, value) in row.enumerated() {
        let place = Int32(index + 1)
        switch value {
        case .text(let text): sqlite3_bind_text(insert, place, text, -1, transient)
        case .integer(let number): sqlite3_bind_int64(insert, place, Int64(number))
        case .real(let number): sqlite3_bind_double(insert, place, number)
        }
      }
      guard sqlite3_step(insert) == SQLITE_DONE else { throw BenchmarkFailure("sqlite does not insert") }
      sqlite3_reset(insert)
    }
    try run("COMMIT")
  }

  /// In one transaction.
  func update(_ numbers: Range<Int>, score: Double) throws {
    let update = try statement("UPDATE documents SET score = ? WHERE path = ?")
    try run("BEGIN")
    for number in numbers {
      sqlite3_bind_double(update, 1, score + Double(number % 10_000) / 7)
      sqlite3_bind_text(update, 2, SampleDocument.pathText(number), -1, transient)
      guard sqlite3_step(update) == SQLITE_DONE else { throw BenchmarkFailure("sqlite does not update") }
      sqlite3_reset(update)
    }
    try run("COMMIT")
  }

  func get(_ number: Int) throws -> Int {
    let select = try statement("SELECT \(Self.columns) FROM documents WHERE path = ?")
    sqlite3_bind_text(select, 1, SampleDocument.pathText(number), -1, transient)
    return weigh(select)
  }

  func byScore(from score: Double, limit: Int) throws -> Int {
    let select = try statement(
      "SELECT \(Self.columns) FROM documents WHERE parent = 'users' AND score >= ? ORDER BY score LIMIT ?")
    sqlite3_bind_double(select, 1, score)
    sqlite3_bind_int64(select, 2, Int64(limit))
    return weigh(select)
  }

  func ofTown(_ town: String, limit: Int) throws -> Int {
    let select = try statement(
      """
      SELECT \(Self.columns) FROM documents WHERE parent = 'users' AND city = ? ORDER BY createdAt DESC LIMIT ?
      """)
    sqlite3_bind_text(select, 1, town, -1, transient)
    sqlite3_bind_int64(select, 2, Int64(limit))
    return weigh(select)
  }

  func anywhere(from createdAt: Int, limit: Int) throws -> Int {
    let select = try statement(
      "SELECT \(Self.columns) FROM documents WHERE createdAt >= ? ORDER BY createdAt LIMIT ?")
    sqlite3_bind_int64(select, 1, Int64(createdAt))
    sqlite3_bind_int64(select, 2, Int64(limit))
    return weigh(select)
  }

  func scan() throws -> Int { weigh(try statement("SELECT \(Self.columns) FROM documents")) }

  func close() throws {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  private func weigh(_ select: OpaquePointer) -> Int {
    var sum = 0
    while sqlite3_step(select) == SQLITE_ROW {
      for column in 0..<sqlite3_column_count(select) {
        switch sqlite3_column_type(select, column) {
        case SQLITE_INTEGER: sum += Int(sqlite3_column_int64(select, column))
        case SQLITE_FLOAT: sum += Int(sqlite3_column_double(select, column))
        case SQLITE_TEXT: sum += Int(sqlite3_column_bytes(select, column))
        default: break
        }
      }
    }
    sqlite3_reset(select)
    return sum
  }

  private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  private func run(_ text: String) throws {
    guard sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
      throw BenchmarkFailure("sqlite: \(String(cString: sqlite3_errmsg(database)))")
    }
  }

  private func statement(_ text: String) throws -> OpaquePointer {
    if let statement = statements[text] { return statement }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw BenchmarkFailure("sqlite: \(String(cString: sqlite3_errmsg(database)))")
    }
    statements[text] = statement
    return statement
  }
}
#endif

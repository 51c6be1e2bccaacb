#if SQLITE
import Foundation

typealias SQLiteColumns = SQLiteDocuments<ColumnsForm>
typealias SQLiteJSON = SQLiteDocuments<JSONForm>
typealias SQLiteGenerated = SQLiteDocuments<GeneratedForm>

enum ColumnsForm: SQLiteForm {
  static let name = "sqlite"
  static let settings = """
    Columns for the three indexed fields, and the document packed beside them: the fastest form, for those who know \
    their fields ahead.
    """
  static let columns = "score REAL, town TEXT, createdAt INT, data BLOB"
  static let score = "score"
  static let town = "town"
  static let createdAt = "createdAt"
  static let insertedColumns = ["score", "town", "createdAt"]

  static func bind(_ row: SQLiteRow, to statement: SQLiteStatement) {
    statement.bind(4, blob: row.packed)
    statement.bind(5, row.score)
    statement.bind(6, row.town)
    statement.bind(7, row.createdAt)
  }

  static func weight(_ statement: SQLiteStatement) -> Int { PackedRecord.weight(statement.blob(0)) }

  static func update(_ update: SQLiteUpdate, in database: SQLiteDatabase) throws {
    let found = try database.with("SELECT data, id FROM documents WHERE path = ?") { select in
      select.bind(1, update.path)
      return try select.step() ? (Array(select.blob(0)), select.integer(1)) : nil
    }
    guard let (data, id) = found else { throw BenchmarkFailure("SQLite does not hold the record to update") }
    var record = data
    guard let offset = record.withUnsafeBytes({ PackedRecord.offsetOfScore($0) })
    else { throw BenchmarkFailure("a record of SQLite has no score") }
    record.withUnsafeMutableBytes {
      $0.storeBytes(of: update.score.bitPattern.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    try database.with("UPDATE documents SET score = ?, data = ? WHERE id = ?") { change in
      change.bind(1, update.score)
      change.bind(2, blob: record)
      change.bind(3, id)
      _ = try change.step()
    }
  }
}

enum JSONForm: SQLiteForm {
  static let name = "sqlite-json"
  static let settings = "Documents as JSON text, with indexes on expressions over it."
  static let columns = "data TEXT"
  static let score = "json_extract(data, '$.score')"
  static let town = "json_extract(data, '$.city')"
  static let createdAt = "json_extract(data, '$.createdAt')"
  static let insertedColumns: [String] = []

  static func bind(_ row: SQLiteRow, to statement: SQLiteStatement) { statement.bind(4, row.json) }

  static func weight(_ statement: SQLiteStatement) -> Int { statement.text(0).map(SampleJSON.weight) ?? -1 }

  static func update(_ update: SQLiteUpdate, in database: SQLiteDatabase) throws {
    try database.with("UPDATE documents SET data = json_set(data, '$.score', ?) WHERE path = ?") { change in
      change.bind(1, update.score)
      change.bind(2, update.path)
      _ = try change.step()
    }
  }
}

enum GeneratedForm: SQLiteForm {
  static let name = "sqlite-generated"
  static let settings = "Documents as JSON text, with generated columns over it that the indexes take."
  static let columns = """
    data TEXT, score REAL AS (json_extract(data, '$.score')) STORED,
    town TEXT AS (json_extract(data, '$.city')) STORED,
    createdAt INT AS (json_extract(data, '$.createdAt')) STORED
    """
  static let score = "score"
  static let town = "town"
  static let createdAt = "createdAt"
  static let insertedColumns: [String] = []

  static func bind(_ row: SQLiteRow, to statement: SQLiteStatement) { JSONForm.bind(row, to: statement) }
  static func weight(_ statement: SQLiteStatement) -> Int { JSONForm.weight(statement) }

  static func update(_ update: SQLiteUpdate, in database: SQLiteDatabase) throws {
    try JSONForm.update(update, in: database)
  }
}
#endif

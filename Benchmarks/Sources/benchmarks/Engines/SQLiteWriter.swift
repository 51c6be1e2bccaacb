#if SQLITE
import Foundation

/// SQLite with a column for each field and its indexes there from the start; for a load they are made behind it.
final class SQLiteWriter: DocumentWriter {
  static let name = "sqlite"
  private let database: SQLiteEngine
  private var hasIndexes = false

  init(_ directory: URL) throws { database = try SQLiteEngine(directory) }

  func write(_ numbers: Range<Int>) throws {
    if !hasIndexes { try database.makeIndexes() }
    hasIndexes = true
    try database.insert(numbers)
  }

  func load(_ count: Int) throws { try database.load(count) }

  func update(_ numbers: Range<Int>, score: Double) throws { try database.update(numbers, score: score) }

  func close() throws { try database.close() }
}
#endif

#if SQLITE
import Foundation
import SampleDocuments

/// A form that stores documents as JSON text.
protocol SQLiteJSONForm: SQLiteForm {}

extension JSONForm: SQLiteJSONForm {}
extension GeneratedForm: SQLiteJSONForm {}

/// The texts of a store of `SQLiteDocuments`.
final class SQLiteJSONDocuments<Form: SQLiteJSONForm>: JSONDocuments {
  static var name: String { Form.name }
  static var settings: String { "The store of \(Form.name), opened with the same settings." }

  private let database: SQLiteDatabase
  private let select: SQLiteStatement
  private let selectByScore: SQLiteStatement

  init(_ context: RunContext) throws {
    let directory = try context.stores.directory(of: SQLiteDocuments<Form>.self)
    database = try SQLiteDatabase(SQLiteDocuments<Form>.path(in: directory))
    try database.read(cacheBytes: context.options.cacheBytes)
    try database.lockForThisConnection()
    select = try database.prepared(SQLiteDocuments<Form>.selectByPath)
    selectByScore = try database.prepared(SQLiteDocuments<Form>.selectByScore)
  }

  func close() { database.close() }

  static func key(_ number: Int) -> [UInt8] { Array(SampleDocument(number).path.utf8) }

  func get(_ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Int) throws -> Int {
    try key.withUnsafeBytes { key in
      try select.run { select in
        select.bind(1, borrowed: key)
        return try select.step() ? body(select.blob(0)) : -1
      }
    }
  }

  func byScore(
    from score: Double, limit: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try selectByScore.run { select in
      select.bind(1, score)
      select.bind(2, limit)
      while try select.step() { try body(select.blob(0)) }
    }
  }
}
#endif

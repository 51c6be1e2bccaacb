#if SQLITE
internal import CSQLite
import Foundation

/// One connection with its prepared statements.
final class SQLiteDatabase {
  private let handle: OpaquePointer
  private var statements: [String: SQLiteStatement] = [:]

  init(_ path: String) throws {
    var handle: OpaquePointer?
    guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else {
      throw BenchmarkFailure("SQLite does not open \(path)")
    }
    self.handle = handle
  }

  static var version: String { String(cString: sqlite3_libversion()) }

  /// The maximum number of bytes that this build of SQLite maps, or nil if SQLite does not report the
  /// maximum.
  static let mapBytes: Int? = {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("map-\(UUID().uuidString).db")
    defer { try? FileManager.default.removeItem(at: file) }
    guard let database = try? SQLiteDatabase(file.path) else { return nil }
    defer { database.close() }
    try? database.run("PRAGMA mmap_size=\(mapBytesAsked)")
    return try? database.with("PRAGMA mmap_size") { try $0.step() ? $0.integer(0) : nil }
  }()

  private static let mapBytesAsked = 8 << 30

  /// Configures reads. Pages in the mapped part of the file are read from the map. All other reads, and all
  /// reads in write transactions, use a page cache of `cacheBytes`.
  func read(cacheBytes: Int, isMapped: Bool = true) throws {
    try run("PRAGMA mmap_size=\(isMapped ? Self.mapBytesAsked : 0)")
    try run("PRAGMA cache_size=-\(cacheBytes >> 10)")
    // Some builds overwrite deleted data with zeros by default.
    try run("PRAGMA secure_delete=OFF")
  }

  /// Switches to exclusive locking and takes the lock on the file, so that later reads take no locks. The
  /// connection must read once before it switches. Otherwise SQLite would use no shared memory, and the
  /// connection could not return to normal locking.
  func lockForThisConnection() throws {
    try run("SELECT count(*) FROM sqlite_schema; PRAGMA locking_mode=EXCLUSIVE")
    try run("SELECT count(*) FROM sqlite_schema")
  }

  func unlockForOthers() throws {
    try run("PRAGMA locking_mode=NORMAL")
    try run("SELECT count(*) FROM sqlite_schema")
  }

  func run(_ text: String) throws {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  /// Calls `body` with the prepared statement, and then resets the statement.
  func with<Result>(_ text: String, _ body: (SQLiteStatement) throws -> Result) throws -> Result {
    try prepared(text).run(body)
  }

  /// Returns a prepared statement, which is valid until the connection is closed.
  func prepared(_ text: String) throws -> SQLiteStatement {
    if let statement = statements[text] { return statement }
    var statement: OpaquePointer?
    guard
      sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
      let statement
    else { throw failure }
    let prepared = SQLiteStatement(handle: statement)
    statements[text] = prepared
    return prepared
  }

  func close() {
    for statement in statements.values { sqlite3_finalize(statement.handle) }
    sqlite3_close(handle)
  }

  private var failure: BenchmarkFailure {
    BenchmarkFailure("SQLite: \(String(cString: sqlite3_errmsg(handle)))")
  }
}

/// A prepared statement, which can be bound and stepped.
struct SQLiteStatement {
  fileprivate let handle: OpaquePointer

  /// Runs `body` and then resets the statement.
  func run<Result>(_ body: (SQLiteStatement) throws -> Result) throws -> Result {
    defer { reset() }
    return try body(self)
  }

  func bind(_ place: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      _ = bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(handle, place, $0.baseAddress, Int32($0.count), Self.transient)
      }
    }
  }

  /// Binds text without a copy. The bytes must stay valid until the statement is reset.
  func bind(_ place: Int32, borrowed bytes: UnsafeRawBufferPointer) {
    sqlite3_bind_text(handle, place, bytes.characters, Int32(bytes.count), nil)
  }

  /// Binds a blob without a copy.
  func bind(_ place: Int32, borrowedBlob bytes: UnsafeRawBufferPointer) {
    sqlite3_bind_blob(handle, place, bytes.baseAddress, Int32(bytes.count), nil)
  }

  func bind(_ place: Int32, blob bytes: [UInt8]) {
    sqlite3_bind_blob(handle, place, bytes, Int32(bytes.count), Self.transient)
  }

  func bind(_ place: Int32, _ number: Int) { sqlite3_bind_int64(handle, place, Int64(number)) }
  func bind(_ place: Int32, _ number: Double) { sqlite3_bind_double(handle, place, number) }

  /// Returns false if there is no further row.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: true
    case SQLITE_DONE: false
    default: throw BenchmarkFailure("SQLite: a step failed")
    }
  }

  func reset() { sqlite3_reset(handle) }

  func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }

  func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  /// Returns a zero-terminated text.
  func text(_ column: Int32) -> UnsafePointer<UInt8>? { sqlite3_column_text(handle, column) }

  /// SQLITE_TRANSIENT makes SQLite copy bound bytes before the call returns. C's header defines it as -1
  /// cast to a function pointer, which Swift does not import. The cast is valid because a pointer to a C
  /// function has the size of an Int. SQLite compares the value with -1 and never calls it.
  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
#endif

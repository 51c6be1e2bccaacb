#if SQLITE
import Foundation
import SampleDocuments

/// The differences between the three forms of SQLite documents.
protocol SQLiteForm: SendableMetatype {
  static var name: String { get }
  static var settings: String { get }
  /// Columns after `id, path, parent, kind`. The content of a document is always in `data`.
  static var columns: String { get }
  /// SQL expressions for the fields in indexes and conditions.
  static var score: String { get }
  static var town: String { get }
  static var createdAt: String { get }
  /// Columns that an insert sets in addition to `path, parent, kind, data`.
  static var insertedColumns: [String] { get }
  static func bind(_ row: SQLiteRow, to statement: SQLiteStatement)
  static func weight(_ statement: SQLiteStatement) -> Int
  static func update(_ update: SQLiteUpdate, in database: SQLiteDatabase) throws
}

struct SQLiteRow: Sendable {
  var path: String
  var parent: String
  var isPost: Bool
  var score: Double
  var town: String
  var createdAt: Int
  var json: String
  var packed: [UInt8]
}

struct SQLiteUpdate: Sendable {
  var path: String
  var score: Double
}

/// Documents in SQLite: one table with a row per document, and partial indexes for users and posts.
final class SQLiteDocuments<Form: SQLiteForm>: DocumentEngine, @unchecked Sendable {
  static var name: String { Form.name }
  static var settings: String {
    """
    SQLite \(SQLiteDatabase.version). \(Form.settings) WAL, so that a commit is one write and one sync; synchronous \
    FULL, because NORMAL does not sync each commit; a memory map of 8 GB, of which this library takes \
    \((SQLiteDatabase.mapBytes ?? 0) >> 20) MiB, off for cold opens, where one fault would read ahead megabytes; a page cache \
    of the given size; secure_delete off; prepared statements; \
    checkpoints every 10,000 pages, so that few happen while it is measured; a rowid table with unique paths, so \
    that indexes lead to rows by number; partial indexes. One connection writes, behind a lock: eight that contend \
    were no faster; locking_mode EXCLUSIVE, since one process has the file, so that no read asks for a lock, but where two \
    connections read. Loads are one transaction without a journal, and build indexes at the end, that of paths among \
    them.
    """
  }

  // @unchecked Sendable holds because writers on several threads hold the lock while they use the connection.
  // In a round without writers, one thread does all reads, and only that thread sets `preparedStatements` and
  // `secondOpened`. SQLite itself allows calls from any thread, if each connection has one call at a time.
  private let database: SQLiteDatabase
  private let lock = NSLock()
  private let path: String
  private let setup: EngineSetup
  private let insert = SQLiteDocuments.insert()

  init(_ directory: URL, _ setup: EngineSetup) throws {
    path = Self.path(in: directory)
    self.setup = setup
    let isNew = !FileManager.default.fileExists(atPath: path)
    database = try Self.opened(path, setup)
    guard isNew else { return }
    try database.run(
      """
      CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, parent TEXT, kind INT, \(Form.columns))
      """)
    if setup.purpose == .load { try database.run("BEGIN") } else { try makeIndexes() }
  }

  static func path(in directory: URL) -> String { directory.appendingPathComponent("sqlite.db").path }

  private static var selectUsers: String {
    "SELECT data FROM documents WHERE kind = 0 AND parent = 'users'"
  }
  static var selectByPath: String { "SELECT data FROM documents WHERE path = ?" }
  /// Selects users with at least this score, ordered by score. The second value is the limit.
  static var selectByScore: String { "\(selectUsers) AND \(Form.score) >= ? ORDER BY \(Form.score) LIMIT ?" }

  /// The prepared statements. The first use prepares all of them.
  private var statements: Statements {
    get throws {
      if let preparedStatements { return preparedStatements }
      let prepared = try Statements(database)
      preparedStatements = prepared
      return prepared
    }
  }
  private var preparedStatements: Statements?

  private struct Statements {
    let get: SQLiteStatement
    let byScore: SQLiteStatement
    let usersInTown: SQLiteStatement
    let usersInTownUntil: SQLiteStatement
    let posts: SQLiteStatement

    init(_ database: SQLiteDatabase) throws {
      let (town, createdAt) = (Form.town, Form.createdAt)
      let users = SQLiteDocuments.selectUsers
      get = try database.prepared(SQLiteDocuments.selectByPath)
      byScore = try database.prepared(SQLiteDocuments.selectByScore)
      usersInTown = try database.prepared("\(users) AND \(town) = ? ORDER BY \(createdAt) DESC LIMIT ?")
      usersInTownUntil = try database.prepared(
        "\(users) AND \(town) = ? AND \(createdAt) <= ? ORDER BY \(createdAt) DESC LIMIT ?")
      posts = try database.prepared(
        "SELECT data FROM documents WHERE kind = 1 AND \(createdAt) >= ? ORDER BY \(createdAt) LIMIT ?")
    }
  }

  private static func opened(
    _ path: String, _ setup: EngineSetup, isAlone: Bool = true
  ) throws -> SQLiteDatabase {
    let database = try SQLiteDatabase(path)
    if setup.purpose == .load {
      try database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY")
    } else {
      try database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
      try database.run("PRAGMA wal_autocheckpoint=\(setup.purpose == .crash ? 0 : 10_000)")
    }
    try database.read(cacheBytes: setup.cacheBytes, isMapped: setup.purpose != .coldOpen)
    if isAlone { try database.lockForThisConnection() }
    return database
  }

  private func makeIndexes() throws {
    try database.run("CREATE UNIQUE INDEX byPath ON documents (path)")
    try database.run("CREATE INDEX byScore ON documents (parent, \(Form.score)) WHERE kind = 0")
    try database.run(
      "CREATE INDEX byTown ON documents (parent, \(Form.town), \(Form.createdAt) DESC) WHERE kind = 0")
    try database.run("CREATE INDEX byCreatedAt ON documents (\(Form.createdAt)) WHERE kind = 1")
  }

  func close() throws {
    secondOpened?.close()
    database.close()
  }

  // MARK: Writing

  static func writes(_ numbers: [Int]) throws -> [SQLiteRow] {
    numbers.map { number in
      let document = SampleDocument(number)
      return SQLiteRow(
        path: document.path, parent: document.parent, isPost: document.isPost, score: document.score,
        town: document.town, createdAt: document.createdAt, json: SampleJSON.text(document),
        packed: PackedRecord.bytes(document))
    }
  }

  static func updates(_ numbers: [Int], revision: Int) throws -> [SQLiteUpdate] {
    numbers.map { number in
      let document = SampleDocument(number, revision: revision)
      return SQLiteUpdate(path: document.path, score: document.score)
    }
  }

  func write(_ writes: [SQLiteRow]) throws {
    try inTransaction {
      try database.with(insert) { statement in
        for row in writes {
          statement.bind(1, row.path)
          statement.bind(2, row.parent)
          statement.bind(3, row.isPost ? 1 : 0)
          Form.bind(row, to: statement)
          _ = try statement.step()
          statement.reset()
        }
      }
    }
  }

  private static func insert() -> String {
    let names = ["path", "parent", "kind", "data"] + Form.insertedColumns
    let places = names.map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO documents (\(names.joined(separator: ", "))) VALUES (\(places))"
  }

  func update(_ updates: [SQLiteUpdate]) throws {
    try inTransaction { for update in updates { try Form.update(update, in: database) } }
  }

  private func inTransaction(_ body: () throws -> Void) throws {
    // A load runs in one transaction, which is already open.
    guard setup.purpose != .load else { return try body() }
    try lock.withLock {
      _ = try database.with("BEGIN IMMEDIATE") { try $0.step() }
      try body()
      _ = try database.with("COMMIT") { try $0.step() }
    }
  }

  func finishLoad() throws {
    try database.run("COMMIT")
    try makeIndexes()
    try database.run("PRAGMA analysis_limit=1000; ANALYZE")
    let file = open(path, O_RDWR)
    defer { Foundation.close(file) }
    guard file >= 0, fsync(file) == 0 else { throw BenchmarkFailure("the file of SQLite was not synced") }
  }

  func compactedCopy(to directory: URL) throws -> Bool {
    try database.run("VACUUM INTO '\(directory.appendingPathComponent("sqlite.db").path)'")
    return true
  }

  // MARK: Reading

  static func key(_ number: Int) throws -> [UInt8] { Array(SampleDocument(number).path.utf8) }

  func get(_ key: [UInt8]) throws -> Int {
    try key.withUnsafeBytes { key in
      try statements.get.run { select in
        select.bind(1, borrowed: key)
        return try select.step() ? Form.weight(select) : -1
      }
    }
  }

  func byScore(from score: Double, limit: Int) throws -> Int {
    try statements.byScore.run { select in
      select.bind(1, score)
      select.bind(2, limit)
      return try Self.weighInOrder(select)
    }
  }

  func usersInTown(_ town: String, limit: Int) throws -> Int {
    try statements.usersInTown.run { select in
      select.bind(1, town)
      select.bind(2, limit)
      return try Self.weighInOrder(select)
    }
  }

  func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int {
    try statements.usersInTownUntil.run { select in
      select.bind(1, town)
      select.bind(2, time)
      select.bind(3, limit)
      return try Self.weighInOrder(select)
    }
  }

  func posts(from time: Int, limit: Int) throws -> Int {
    try statements.posts.run { select in
      select.bind(1, time)
      select.bind(2, limit)
      return try Self.weighInOrder(select)
    }
  }

  func scan() throws -> Int { try database.with("SELECT data FROM documents", Self.weigh) }

  func scanInTwo() throws -> Int {
    let middle = try database.with("SELECT (min(id) + max(id)) / 2 FROM documents") { select in
      try select.step() ? select.integer(0) : 0
    }
    let connections = Connections(first: database, second: try second())
    return try TwoThreads.sum(
      { try connections.first.with("SELECT data FROM documents WHERE id <= \(middle)", Self.weigh) },
      { try connections.second.with("SELECT data FROM documents WHERE id > \(middle)", Self.weigh) })
  }

  /// Returns the second connection. The warm-up scan opens it, and it stays open until the engine is closed.
  private func second() throws -> SQLiteDatabase {
    if let opened = secondOpened { return opened }
    try database.unlockForOthers()
    let second = try Self.opened(path, setup, isAlone: false)
    secondOpened = second
    return second
  }
  private var secondOpened: SQLiteDatabase?

  /// @unchecked Sendable holds because only one thread uses each connection until both threads are done.
  private struct Connections: @unchecked Sendable {
    var first: SQLiteDatabase
    var second: SQLiteDatabase
  }

  private static func weighInOrder(_ select: SQLiteStatement) throws -> Int {
    var sum = 0
    while try select.step() { sum = SampleDocument.next(sum, Form.weight(select)) }
    return sum
  }

  private static func weigh(_ select: SQLiteStatement) throws -> Int {
    var sum = 0
    while try select.step() { sum &+= Form.weight(select) }
    return sum
  }
}
#endif

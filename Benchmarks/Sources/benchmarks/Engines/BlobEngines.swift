// The stores for contents: Dugout, one file per content as a careful program writes it, and SQLite rows.

@_spi(Measure) import DocumentStore
import Foundation
@_spi(Measure) import ObjectStore

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

protocol BlobEngine: Sendable {
  static var name: String { get }
  /// The engine's settings and the reasons for them.
  static var settings: String { get }
  init(_ directory: URL) throws
  /// Stores a content under `name`. The content is durable when the call returns.
  func put(_ bytes: [UInt8], _ name: String) throws
  /// Moves the written data to where reads are fastest, for example with a checkpoint. Called between writes
  /// and reads.
  func checkpoint() throws
  func content(_ name: String) throws -> [UInt8]?
  func close() throws
}

extension BlobEngine {
  func checkpoint() throws {}
}

enum BlobEngines {
  static var peers: [any BlobEngine.Type] {
    var peers: [any BlobEngine.Type] = [FileBlobs.self]
    #if SQLITE
    peers.append(SQLiteBlobs.self)
    #endif
    return peers
  }
}

struct DugoutBlobs: BlobEngine {
  static let name = "dugout"
  static let settings = DugoutDocuments.settings
  private let store: DocumentStore
  private let objects: MeasuredObjectStore

  init(_ directory: URL) throws {
    store = try DocumentStore.open(directory.appendingPathComponent("store").path)
    objects = MeasuredObjectStore(store)
  }

  func put(_ bytes: [UInt8], _ name: String) throws { try objects.put(bytes, name) }

  func content(_ name: String) throws -> [UInt8]? { try objects.content(name) }

  func close() throws { try store.close() }
}

/// One file per content, without a digest. Each file is written under a temporary name, synced and renamed,
/// and then the directory is synced.
struct FileBlobs: BlobEngine {
  static let name = "files"
  static let settings = """
    A file for each content: written aside, synced with fsync, renamed, and its directory synced, without which a content \
    could lack its name after a power loss; the directory stays open. Neither a digest nor a checksum. Read whole, with one \
    read, into memory that was not filled with zeros: a map would cost a fault for each page.
    """
  private let directory: String
  private let folder: Int32

  init(_ directory: URL) throws {
    self.directory = directory.path
    folder = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw BenchmarkFailure("\(directory.path) cannot be opened") }
  }

  func put(_ bytes: [UInt8], _ name: String) throws {
    let path = "\(directory)/\(name)"
    let file = open("\(path).new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BenchmarkFailure("\(path) cannot be created") }
    var done = 0
    while done < bytes.count {
      let taken = bytes.withUnsafeBytes { write(file, $0.baseAddress! + done, $0.count - done) }
      guard taken > 0 else { throw BenchmarkFailure("\(path) cannot be written") }
      done += taken
    }
    guard fsync(file) == 0 else { throw BenchmarkFailure("\(path) cannot be synced") }
    close(file)
    guard rename("\(path).new", path) == 0 else { throw BenchmarkFailure("\(path) cannot be renamed") }
    guard fsync(folder) == 0 else { throw BenchmarkFailure("\(directory) cannot be synced") }
  }

  func content(_ name: String) throws -> [UInt8]? {
    let file = open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    fstat(file, &status)
    let size = Int(status.st_size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(pread(file, buffer.baseAddress, size, 0), 0)
    }
    return bytes.count == size ? bytes : nil
  }

  func close() throws { close(folder) }

  private func close(_ descriptor: Int32) {
    #if canImport(Darwin)
    _ = Darwin.close(descriptor)
    #else
    _ = Glibc.close(descriptor)
    #endif
  }
}

#if SQLITE
/// One row per content, keyed by its name.
final class SQLiteBlobs: BlobEngine, @unchecked Sendable {
  static let name = "sqlite"
  static let settings = """
    SQLite \(SQLiteDatabase.version). A row for each content, of a table without anything else, in pages of 64 KiB; WAL and \
    synchronous FULL, a memory map as far as the library takes one, checkpoints every 10,000 pages, so that none comes \
    while it is measured, and one before contents are read, out of the map then; prepared statements that borrow what is \
    bound. One connection, behind a lock, and locking_mode EXCLUSIVE, since one process has the file. Neither a digest nor \
    a checksum.
    """

  // @unchecked Sendable holds because the lock guards every use of the connection.
  private let database: SQLiteDatabase
  private let lock = NSLock()
  private let insert: SQLiteStatement
  private let select: SQLiteStatement

  init(_ directory: URL) throws {
    database = try SQLiteDatabase(directory.appendingPathComponent("contents.db").path)
    try database.run("PRAGMA page_size=65536; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    try database.run("PRAGMA wal_autocheckpoint=10000")
    try database.read(cacheBytes: 1 << 30)
    try database.lockForThisConnection()
    try database.run("CREATE TABLE contents (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data BLOB)")
    insert = try database.prepared("INSERT INTO contents (name, data) VALUES (?, ?)")
    select = try database.prepared("SELECT data FROM contents WHERE name = ?")
  }

  func put(_ bytes: [UInt8], _ name: String) throws {
    try lock.withLock {
      try insert.run { insert in
        insert.bind(1, name)
        try bytes.withUnsafeBytes { bytes in
          insert.bind(2, borrowedBlob: bytes)
          _ = try insert.step()
        }
      }
    }
  }

  func checkpoint() throws { try lock.withLock { try database.run("PRAGMA wal_checkpoint(TRUNCATE)") } }

  func content(_ name: String) throws -> [UInt8]? {
    try lock.withLock {
      try select.run { select in
        select.bind(1, name)
        return try select.step() ? Array(select.blob(0)) : nil
      }
    }
  }

  func close() throws { database.close() }
}
#endif

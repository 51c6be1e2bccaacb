// The errors of ByteStore. Each error carries enough evidence to act on it.

import Libc

/// A failed system call: the operation, the path and the error code.
package struct SystemFailure: Error, Hashable, Sendable, CustomStringConvertible {
  package var operation: String
  package var path: String
  package var code: Int32
  /// The kind of the entry at the path, if it is not a file and the call needs a file.
  package var found: EntryKind?

  package init(operation: String, path: String, code: Int32, found: EntryKind? = nil) {
    self.operation = operation
    self.path = path
    self.code = code
    self.found = found
  }

  package var description: String {
    if let found { return "\(operation) of \(path) failed: it is \(found) (error \(code))" }
    return "\(operation) of \(path) failed: \(Self.message(for: code)) (error \(code))"
  }

  func withObstacle(_ found: EntryKind?) -> SystemFailure {
    var failure = self
    failure.found = found
    return failure
  }

  /// The system's text for an error code.
  package static func message(for code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    _ = unsafe strerror_r(code, &text, text.count)
    let end = text.firstIndex(of: 0) ?? text.count
    return String(decoding: text[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// Bytes on disk that differ from their expected content, and their position.
package struct Damage: Error, Hashable, Sendable, CustomStringConvertible {
  package var file: String
  package var offset: UInt64
  package var expected: String
  package var found: String

  package init(file: String, offset: UInt64, expected: String, found: String) {
    self.file = file
    self.offset = offset
    self.expected = expected
    self.found = found
  }

  package var description: String {
    "\(file) is damaged at byte \(offset): expected \(expected), found \(found)"
  }
}

/// Every error that ByteStore throws.
package enum ByteStoreError: Error, Hashable, Sendable {
  // When opening
  /// The directory holds files that do not belong to a store. Nothing in it was touched.
  case notAStore(directory: String, found: String)
  /// The directory does not exist, and the caller did not ask for a new store.
  case noStore(directory: String)
  /// The store is already open, in this process or in another one.
  case locked(directory: String, holder: Int32?)
  /// A newer version of this library wrote the file. It was not touched.
  case newerFormat(file: String, found: UInt16, supported: UInt16)
  /// The file has a name that this store uses, but the file belongs to another store.
  case foreignFile(file: String, expected: RandomID, found: RandomID)
  /// The directory is on another machine, where locks and syncs are unreliable. Nothing was written
  /// there.
  case networkFileSystem(directory: String, fileSystem: String)
  /// An entry of another kind has a name that the store uses for a `needed` entry. Nothing was touched.
  case nameTaken(path: String, by: EntryKind, needed: EntryKind)
  /// The string is not a valid path. Nothing was touched.
  case invalidPath(String)

  /// The directory holds a backup or a restore that was interrupted. It is not a store. Nothing was
  /// touched.
  case incompleteBackup(directory: String)

  // When reading beside a writer
  /// The directory holds another store than the reader opened, or an earlier state of it.
  case replaced(directory: String)

  // When backing up
  /// The target directory is not empty. Nothing was touched.
  case notEmpty(directory: String, found: String)
  /// The target directory is the store's own directory or lies inside it. Nothing was touched.
  case insideStore(directory: String, store: String)

  // When reading
  /// Acknowledged bytes on disk differ from the bytes that were written. Nothing was dropped or repaired.
  case corrupted(Damage)

  // When writing
  /// The input is larger than the format can hold. Nothing was written.
  case tooLarge(what: String, limit: Int, found: Int)
  /// The store already holds as many items of this kind as its format can number. Nothing was written.
  case full(directory: String, what: String, limit: Int)
  /// A write or a sync failed, during this commit or earlier. The next open decides whether this commit
  /// survives.
  case outcomeUnknown(SystemFailure)
  /// A flush is impossible, and the WAL has reached its size limit. Nothing was written; reads still work. If
  /// `failure` is nil, the cause is damage.
  case flushImpossible(directory: String, cause: String, failure: SystemFailure? = nil)
  /// An earlier commit that this commit depends on was refused. Nothing was written.
  case dependencyRefused
  /// The store is open for reading only, so nothing was written.
  case readOnly(directory: String)

  // At any time
  case system(SystemFailure)
  case closed(directory: String)
  /// The process forked after it opened the store. The child process must not use this store object.
  case forked(directory: String)
}

extension ByteStoreError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notAStore(let directory, let found):
      "\(directory) is not a Dugout store: it contains \(found). Choose an empty or a new directory."
    case .noStore(let directory):
      "There is no Dugout store at \(directory)."
    case .locked(let directory, let holder):
      "The store at \(directory) is in use by "
        + (holder.map { "process \($0)" } ?? "another opener")
        + ". A store has one writer at a time: close it there first."
    case .newerFormat(let file, let found, let supported):
      "\(file) has format version \(found), and this library supports versions up to \(supported). "
        + "Open it with a newer release."
    case .foreignFile(let file, let expected, let found):
      "\(file) belongs to store \(found), not to this store \(expected). Put the store's own file back."
    case .networkFileSystem(let directory, let fileSystem):
      "\(directory) is on a network file system (\(fileSystem)), where two machines could open a store at once "
        + "and a sync guarantees little. Choose a directory on a disk of this machine. A backup may lie "
        + "there: copy it to such a disk to open it."
    case .nameTaken(let path, let found, let needed):
      "\(path) is \(found), and a store needs the name for \(needed). Move it out of the store's directory, and put "
        + "the store's own back if it was replaced. Nothing was changed."
    case .invalidPath(let path):
      "The path \(StorePath.escaped(path)) has a NUL in it, where the system would end it. Choose another. Nothing was "
        + "touched."
    case .incompleteBackup(let directory):
      "A backup or a restore to \(directory) was cut off before it was complete, and is not a store. Repeat it "
        + "in a new directory, or in the same one if that holds no MANIFEST. A salvage recovers the complete parts "
        + "of this one."
    case .replaced(let directory):
      "The store at \(directory) was replaced or restored while it was open for reading. Open it again."
    case .notEmpty(let directory, let found):
      "A backup needs an empty or a new directory, and \(directory) holds \(found). Nothing was touched."
    case .insideStore(let directory, let store):
      "\(directory) is \(store) itself or lies in it, and a backup there would be lost with it. Choose another "
        + "directory. Nothing was touched."
    case .corrupted(let damage):
      "\(damage). Nothing was changed: restore a backup, or keep a copy of the directory for salvage."
    case .tooLarge(let what, let limit, let found):
      "\(what) has \(found) bytes, and the limit is \(limit)."
    case .full(let directory, let what, let limit):
      "The store at \(directory) has \(limit) \(what), and that is the limit. Use a second store."
    case .outcomeUnknown(let failure):
      "\(failure). Whether this commit survives is unknown until the store is opened again."
    case .readOnly(let directory):
      "The store at \(directory) is open for reading only. Open it without that option to write."
    case .flushImpossible(let directory, let cause, .some):
      "The store at \(directory) accepts no more writes for now, because it cannot flush its log: \(cause) "
        + "Reads continue. Once that is fixed, a write retries the flush, and later writes are accepted."
    case .flushImpossible(let directory, let cause, nil):
      "The store at \(directory) accepts no more writes, because it cannot flush its log: \(cause) Reads "
        + "continue. Run dugout check to see all of it, then dugout salvage, or restore a backup."
    case .dependencyRefused:
      "A commit that this one depends on was rejected, and so is this one. Try again."
    case .system(let failure):
      failure.description
    case .closed(let directory):
      "The store at \(directory) has been closed."
    case .forked(let directory):
      "The store at \(directory) was opened before a fork, and this is the child: open it again."
    }
  }
}

extension ByteStoreError {
  package var isDamage: Bool {
    switch self {
    case .corrupted, .foreignFile: true
    default: false
    }
  }

  /// Whether the bytes exist but cannot be used, because they are damaged or the device fails to read
  /// them.
  package var isDamageOrUnreadable: Bool {
    if case .system(let cause) = self { cause.code == EIO } else { isDamage }
  }
}

extension SystemFailure {
  static let missingFile = ENOENT

  package var isMissingFile: Bool { code == Self.missingFile }

  /// Whether no entry has the name, or the entry with this name is not a file.
  package var isMissingOrNotAFile: Bool { isMissingFile || found != nil }

  /// Describes the entry whose name the store needs for a file.
  var obstacleDescription: String {
    if isMissingFile { return "no such file" }
    guard let found else { return "not a regular file" }
    return "\(found), in place of the file: move it out, and put the store's own file back"
  }

  /// Whether the path leads to something other than a directory, or through a cycle of symbolic links.
  package var isNotADirectory: Bool { code == ENOTDIR || code == ELOOP }

  /// Whether the device is full, the user's quota is used up, or the file is too large for the file system.
  package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
}

/// Runs `body` and converts the failure of a system call to an error of the store.
package func system<Result: ~Copyable>(
  _ body: () throws(SystemFailure) -> Result
) throws(ByteStoreError) -> Result {
  do throws(SystemFailure) { return try body() } catch { throw ByteStoreError(error) }
}

extension ByteStoreError {
  /// Converts a failed call on a file. If the path leads to an entry of another kind, the error becomes
  /// `nameTaken`.
  init(_ failure: SystemFailure) {
    guard let found = failure.found else {
      self = .system(failure)
      return
    }
    self = .nameTaken(path: failure.path, by: found, needed: .file)
  }
}

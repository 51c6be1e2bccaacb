// The interface to the disk: every byte that a store reads or writes passes through these calls.
//
// Each call maps to one system call, so that a simulated disk can fail, shorten or lose each of them
// (docs/reliability.md, T1 and T2). The loops over short transfers are in WholeTransfers.swift.

/// Creates and opens directories.
package protocol FileSystem: Sendable {
  /// Creates the directory `path` and its missing parents, each private to the user. On return, all of
  /// them are on stable storage. Succeeds if `path` already exists.
  func createDirectory(_ path: String) throws(SystemFailure)
  /// Opens an existing directory.
  func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory
}

/// A directory of files. Names are plain: they contain no slash and no user-supplied text.
package protocol OpenDirectory: Sendable {
  var path: String { get }
  /// Whether the path still leads to this directory. It may have been renamed, and another one may have its
  /// path. Returns true if the system does not tell.
  func isAtItsPath() -> Bool
  /// The names of all entries, in no particular order, without `.` and `..`.
  func names() throws(SystemFailure) -> [String]
  /// The kind of the entry with a name; nil if there is none. Does not open the entry.
  func kind(of name: String) throws(SystemFailure) -> EntryKind?
  /// Creates an empty file, private to the user. Fails if the name is taken.
  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile
  /// Opens a regular file. If the entry is of another kind, the error names the kind, and the call does
  /// not block.
  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile
  /// Renames an entry atomically, replacing any file of the new name.
  func rename(_ name: String, to newName: String) throws(SystemFailure)
  func remove(_ name: String) throws(SystemFailure)
  /// Returns once the names of the directory's entries are on stable storage.
  func sync() throws(SystemFailure)
  /// How durable a sync of this directory and its files is.
  func durability() throws(SystemFailure) -> DurabilityReport
  /// Takes the lock of this directory, or returns the current holder of the lock. Every opener locks the
  /// directory itself first, and then the lock file `name`. Without a name, only the directory is locked. A
  /// reader writes nothing: if the lock file does not exist, the reader locks only the directory, which also
  /// excludes all other openers. If the file system has no locks, the reader gets a lock that excludes no
  /// other opener.
  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult
  /// Opens the lock file `name` of the readers, which do not take the lock of the directory. A writer creates
  /// the file if it does not exist. Returns nil if there is no such file or the file system has no locks.
  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)?
}

package enum FileAccess: Sendable { case read, readAndWrite }

package enum DirectoryLockResult: Sendable {
  case acquired(any DirectoryLock)
  case held(by: Int32?)
}

/// A lock that is held until `release()` or the death of the process.
package protocol DirectoryLock: Sendable {
  func release()
}

/// Information for readers that a writer sets.
package enum WriterMark: Int32, Sendable {
  /// The store is open for writing. The writer may still be recovering it.
  case isOpen = 0
  /// The writer may be appending to the last log. It sets this mark after it has recorded the end of the log
  /// that it has recovered, so until then that log has the same commits for all readers.
  case appends = 1
}

/// The lock that readers share while a writer uses the store. It never makes the writer wait.
package protocol ReaderLock: Sendable {
  /// Sets a mark until `release()` or the death of the process. Called by the writer. Returns false if a
  /// later call may succeed. Returns true also where the system has no such marks.
  func set(_ mark: WriterMark) -> Bool
  /// Whether a reader shares the lock. Called by the writer.
  func isShared() -> Bool
  /// Shares the lock until `release()` or the death of the process. Returns false if the lock cannot be
  /// shared.
  func share() -> Bool
  /// Whether a writer may have set the mark. Called by readers. Takes no lock.
  func mayHave(_ mark: WriterMark) -> Bool
  func release()
}

/// An open file. Transfers may be short, as with the system's own calls.
package protocol OpenFile: Sendable {
  var path: String { get }
  func size() throws(SystemFailure) -> UInt64
  /// Reads into the front of `buffer` and returns the byte count; 0 means the end of the file.
  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int
  /// Writes a prefix of `bytes` and returns its size.
  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int
  /// Returns once everything written so far and the file's size are on stable storage.
  func sync() throws(SystemFailure)
  /// Starts writeback of `range`, so that the next sync has less to do. Gives no guarantee; errors
  /// surface in that sync.
  func startWriteback(_ range: Range<UInt64>)
  /// Starts read-ahead of `range`. Gives no guarantee; errors surface in the read.
  func startReading(_ range: Range<UInt64>)
  func close()
}

extension OpenFile {
  package func startWriteback(_ range: Range<UInt64>) {}
  package func startReading(_ range: Range<UInt64>) {}
}

extension OpenDirectory {
  /// A directory that only this process can use stays where it is.
  package func isAtItsPath() -> Bool { true }

  /// A directory that only this process can use has no readers that need a lock.
  package func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    NoReaderLock()
  }
}

private struct NoReaderLock: ReaderLock {
  func set(_ mark: WriterMark) -> Bool { true }
  func isShared() -> Bool { false }
  func share() -> Bool { true }
  func mayHave(_ mark: WriterMark) -> Bool { true }
  func release() {}
}

// The seam to the disk: every byte that a store reads or writes passes one of these calls.
//
// The calls are as small as the system's own, so that a simulated disk can fail, shorten or lose each
// of them (docs/reliability.md, T1 and T2). Loops over short transfers live above, in WholeTransfers.swift.

/// Where directories come from.
package protocol FileSystem: Sendable {
  /// Makes the directory `path` and those above it that are missing, each private to the user. When it
  /// returns, all of them are on stable storage. Succeeds if `path` exists already.
  func createDirectory(_ path: String) throws(SystemFailure)
  /// Opens an existing directory.
  func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory
}

/// A directory of files. Names are plain: no slash, never text of a user.
package protocol OpenDirectory: Sendable {
  var path: String { get }
  /// The names of all entries, in no particular order, without `.` and `..`.
  func names() throws(SystemFailure) -> [String]
  /// The kind of the entry with a name; nil if there is none. The entry is not opened.
  func kind(of name: String) throws(SystemFailure) -> EntryKind?
  /// A new, empty file, private to the user; fails if the name is taken.
  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile
  /// Opens a plain file. A failure says what else has the name, and nothing else is waited for.
  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile
  /// Gives an entry another name, replacing the file that had it, in one step.
  func rename(_ name: String, to newName: String) throws(SystemFailure)
  func remove(_ name: String) throws(SystemFailure)
  /// Returns once the names are on stable storage.
  func sync() throws(SystemFailure)
  /// What a sync of this directory and its files is worth.
  func durability() throws(SystemFailure) -> DurabilityReport
  /// Takes the lock of this directory, or says who holds it. To read is to write nothing for it: where the file
  /// is not there, none is made, and everyone is kept out all the same. Without a name, the directory alone is locked,
  /// which every opener locks first.
  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult
}

package enum FileAccess: Sendable { case read, readAndWrite }

package enum DirectoryLockResult: Sendable {
  case acquired(any DirectoryLock)
  case held(by: Int32?)
}

/// Held until `release()`; a process that dies lets go of it.
package protocol DirectoryLock: Sendable {
  func release()
}

/// An open file. Transfers may be short, exactly as the system's.
package protocol OpenFile: Sendable {
  var path: String { get }
  func size() throws(SystemFailure) -> UInt64
  /// Fills the front of `buffer` and returns how much; 0 means the end of the file.
  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int
  /// Writes the front of `bytes` and returns how much.
  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int
  /// Returns once everything written so far, and the size, are on stable storage.
  func sync() throws(SystemFailure)
  /// Lets the disk begin with what was written of `range`, so that less is left for the next sync. It promises nothing,
  /// and what goes wrong is for that sync to tell.
  func startWriting(_ range: Range<UInt64>)
  /// Lets the disk begin to read `range`, which is wanted soon. It promises nothing, and what goes wrong is for that read
  /// to tell.
  func startReading(_ range: Range<UInt64>)
  func close()
}

extension OpenFile {
  package func startWriting(_ range: Range<UInt64>) {}
  package func startReading(_ range: Range<UInt64>) {}
}

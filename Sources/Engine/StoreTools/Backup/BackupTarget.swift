// The target directory of a backup, and the mark of an incomplete backup.
//
// Invariants:
//   - The mark is durable before any other file except the lock is created. The mark is deleted after the
//     manifest is durable.
//   - After an interrupted backup, the mark stays in place without a gap until the next backup is complete.
//     If an earlier sync failed, a power loss may bring back deleted files, even if later syncs succeed (F4).
//   - A directory with the mark and without a manifest is therefore an interrupted backup, never a store.
//   - The manifest is created only after every file that it names is durable and verified.

import ByteStore

/// A directory that contains only this backup, locked until `release()`.
package struct BackupTarget {
  let directory: any OpenDirectory
  let durability: DurabilityReport
  private let lock: any DirectoryLock
  private let platform: Platform
  /// Whether the directory contained the mark of an interrupted backup before this backup.
  private var wasMarked = false

  /// Creates the directory if necessary, and deletes an interrupted backup in it. If the directory contains
  /// anything else, throws and leaves the directory unchanged.
  static func prepare(_ path: String, _ platform: Platform) throws(ByteStoreError) -> BackupTarget {
    let directory = try openOrCreateDirectory(path, platform)
    // Check the directory before locking it as well, so that no lock file is left in a directory that does
    // not belong to a backup.
    try check(directory, platform)
    let durability = try system { () throws(SystemFailure) in try directory.durability() }
    let lock: any DirectoryLock
    switch try system({ () throws(SystemFailure) in try directory.lock(StoreFile.lock, .readAndWrite) }) {
    case .acquired(let acquired): lock = acquired
    case .held(let holder): throw .locked(directory: directory.path, holder: holder)
    }
    var target = BackupTarget(directory: directory, durability: durability, lock: lock, platform: platform)
    do throws(ByteStoreError) {
      try check(directory, platform)
      try target.mark()
      return target
    } catch {
      lock.release()
      throw error
    }
  }

  private init(
    directory: any OpenDirectory, durability: DurabilityReport, lock: any DirectoryLock, platform: Platform
  ) {
    self.directory = directory
    self.durability = durability
    self.lock = lock
    self.platform = platform
  }

  private static func openOrCreateDirectory(
    _ path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    // Call this even for an existing directory. The process that created the directory may have died before
    // the directory's name was durable.
    try system { () throws(SystemFailure) in
      try platform.fileSystem.createDirectory(path)
      return try platform.fileSystem.openDirectory(path)
    }
  }

  private static func check(_ directory: any OpenDirectory, _ platform: Platform) throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }
    if let taken = try TakenName.all(among: names, in: directory).map(\.name).min() {
      throw .notEmpty(directory: directory.path, found: taken)
    }
    let isStore = names.contains(StoreFile.manifest)
    let isInterrupted = names.contains(StoreFile.backupMark) && !isStore
    // If the rename of a new manifest was never durable, the file may still have its temporary name. Such a
    // file is harmless by itself.
    let foreignNames = names.filter { name in
      ![StoreFile.lock, StoreFile.readers].contains(name) && !(isInterrupted && belongsToBackup(name))
        && !(name == StoreFile.newManifest && !isStore) && name != BlobName.folder
    }
    if let found = foreignNames.min() { throw .notEmpty(directory: directory.path, found: found) }
    guard names.contains(BlobName.folder) else { return }
    // An aborted backup may leave an empty contents folder, because folders are never deleted. A link in the
    // folder's place could lead to the contents of another store.
    guard try system({ () throws(SystemFailure) in try directory.kind(of: BlobName.folder) }) == .directory
    else { throw .notEmpty(directory: directory.path, found: BlobName.folder) }
    let contents = try system { () throws(SystemFailure) in
      try platform.fileSystem.openDirectory("\(directory.path)/\(BlobName.folder)").names()
    }
    if let found = contents.filter({ !isInterrupted || BlobName($0) == nil }).min() {
      throw .notEmpty(directory: directory.path, found: "\(BlobName.folder)/\(found)")
    }
  }

  private static func belongsToBackup(_ name: String) -> Bool {
    name == StoreFile.backupMark || name == StoreFile.newManifest || StoreFile.isSegmentOrCheckpoint(name)
  }

  // MARK: The mark

  private mutating func mark() throws(ByteStoreError) {
    do throws(SystemFailure) {
      let names = try directory.names()
      wasMarked = names.contains(StoreFile.backupMark)
      try removeFiles(names)
      guard platform.keeps(.markBackup) else { return }
      if wasMarked {
        // Create the mark again although it exists. A failed sync may have lost the mark on disk while it is
        // still visible (F4).
        try directory.createFile(StoreFile.newManifest).close()
        try directory.rename(StoreFile.newManifest, to: StoreFile.backupMark)
      } else {
        try directory.createFile(StoreFile.backupMark).close()
      }
      try directory.sync()
    } catch {
      throw .system(error)
    }
  }

  /// Deletes the mark. If the deletion fails, the first open deletes the mark. The backup is a store in both
  /// cases.
  func removeMark() {
    try? system { () throws(SystemFailure) in
      try directory.remove(StoreFile.backupMark)
      try directory.sync()
    }
  }

  func release() { lock.release() }

  // MARK: Aborting

  /// Deletes the files of a failed backup. If the deletion fails, a later backup deletes the files.
  func clear() {
    try? system { () throws(SystemFailure) in
      let names = try directory.names()
      // The deletion of the manifest must be durable before the files that it names are deleted.
      if names.contains(StoreFile.manifest) {
        try directory.remove(StoreFile.manifest)
        try directory.sync()
      }
      try removeFiles(names)
      // Delete the mark last, after a sync, so that a power loss cannot bring back any other deleted file
      // without the mark.
      guard names.contains(StoreFile.backupMark), !wasMarked else { return }
      try directory.sync()
      try directory.remove(StoreFile.backupMark)
    }
  }

  private func removeContents() throws(SystemFailure) {
    let folder = try platform.fileSystem.openDirectory("\(directory.path)/\(BlobName.folder)")
    for name in try folder.names() where BlobName(name) != nil { try folder.remove(name) }
    try folder.sync()
  }

  /// Deletes all files except the mark.
  private func removeFiles(_ names: [String]) throws(SystemFailure) {
    let files = names.filter { Self.belongsToBackup($0) && $0 != StoreFile.backupMark }
    for name in files.sorted() { try directory.remove(name) }
    if names.contains(BlobName.folder) { try removeContents() }
  }
}

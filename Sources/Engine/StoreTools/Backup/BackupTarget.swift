// The directory that a backup goes to, and what tells a whole backup from one that was cut off.
//
// Invariants:
//   - The mark is durable before any other file but the lock is made, and goes after the manifest is durable.
//   - Where another backup was cut off, it is there without a break until then: what that one removed may come back
//     with a power loss, whatever syncs say later, if one of its syncs has failed (F4).
//   - So a directory with the mark and without a manifest is a backup that was cut off, and never a store.
//   - A manifest is there once every file that it names is durable and verified.

import ByteStore

/// A directory that holds nothing but this backup, locked until `release()`.
package struct BackupTarget {
  let directory: any OpenDirectory
  let durability: DurabilityReport
  private let lock: any DirectoryLock
  private let platform: Platform
  /// Another backup was cut off here.
  private var wasMarked = false

  /// Makes the directory if need be, and clears away a backup that was cut off there. Anything else in it
  /// is an error, and left as it is.
  static func prepare(_ path: String, _ platform: Platform) throws(ByteStoreError) -> BackupTarget {
    let directory = try openOrMake(path, platform)
    // Looked at before the lock too: not even a lock file is left in a directory that is not ours.
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

  private static func openOrMake(
    _ path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    // One that is there may have been made by a process that died before its name was durable.
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
    let isCutOff = names.contains(StoreFile.backupMark) && !isStore
    // A rename that was never durable may leave a new manifest behind, which is nothing by itself.
    let strangers = names.filter { name in
      name != StoreFile.lock && !(isCutOff && isOfBackup(name))
        && !(name == StoreFile.newManifest && !isStore) && name != BlobName.folder
    }
    if let found = strangers.min() { throw .notEmpty(directory: directory.path, found: found) }
    guard names.contains(BlobName.folder) else { return }
    // No call removes a folder: an empty one may be left of a backup that was given up.
    // A link may lead to the contents of another store.
    guard try system({ () throws(SystemFailure) in try directory.kind(of: BlobName.folder) }) == .directory
    else { throw .notEmpty(directory: directory.path, found: BlobName.folder) }
    let contents = try system { () throws(SystemFailure) in
      try platform.fileSystem.openDirectory("\(directory.path)/\(BlobName.folder)").names()
    }
    if let found = contents.filter({ !isCutOff || BlobName($0) == nil }).min() {
      throw .notEmpty(directory: directory.path, found: "\(BlobName.folder)/\(found)")
    }
  }

  private static func isOfBackup(_ name: String) -> Bool {
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
        // Anew, though it is there: a sync that failed may have dropped it, and shows it on (F4).
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

  /// The backup is a store, with the mark or without: what fails here, the first open does.
  func removeMark() {
    try? system { () throws(SystemFailure) in
      try directory.remove(StoreFile.backupMark)
      try directory.sync()
    }
  }

  func release() { lock.release() }

  // MARK: Giving up

  /// Removes what was written. What is left if that fails, a later backup removes.
  func clear() {
    try? system { () throws(SystemFailure) in
      let names = try directory.names()
      // Gone for good before the files that it names.
      if names.contains(StoreFile.manifest) {
        try directory.remove(StoreFile.manifest)
        try directory.sync()
      }
      try removeFiles(names)
      // The mark goes last, once no power loss brings back a file that was removed.
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

  /// All but the mark.
  private func removeFiles(_ names: [String]) throws(SystemFailure) {
    let files = names.filter { Self.isOfBackup($0) && $0 != StoreFile.backupMark }
    for name in files.sorted() { try directory.remove(name) }
    if names.contains(BlobName.folder) { try removeContents() }
  }
}

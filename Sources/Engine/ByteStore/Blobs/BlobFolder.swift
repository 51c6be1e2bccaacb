// The folder of a store's contents. It is opened on first use.
//
// The names in the folder are synced before any file in it is deleted. This is necessary because a killed
// process may have left names that are not durable yet. Without the sync, a power loss could bring back a
// name that depends on a deleted file (C8).
//
// After a failed sync of the names, no content is added until the store is opened again. The system may have
// dropped the names that it could not write, and the next sync would succeed without them (F4).

/// The folder `blobs` of a store. Usable from any thread.
package final class BlobFolder: Sendable {
  let path: String
  let platform: Platform
  private let storePath: String
  private let state = Locked(State())

  private struct State {
    var directory: (any OpenDirectory)?
    /// The number of the next pack. Nil until the folder has been listed.
    var nextPack: UInt64?
    /// The error of a failed sync of the names.
    var failure: SystemFailure?
  }

  package init(store path: String, _ platform: Platform) {
    self.path = "\(path)/\(BlobName.folder)"
    storePath = path
    self.platform = platform
  }

  /// Opens the folder, or creates it if it does not exist. Throws if a sync of the names has failed before.
  func createIfMissing() throws(ByteStoreError) -> any OpenDirectory {
    if let failure = state.withLock({ $0.failure }) { throw .system(failure) }
    if let directory = try opened() { return directory }
    try system { () throws(SystemFailure) in try platform.fileSystem.createDirectory(path) }
    guard let directory = try opened() else {
      throw .system(SystemFailure(operation: "open", path: path, code: SystemFailure.missingFile))
    }
    return directory
  }

  /// Opens the folder. Returns nil if the folder does not exist, which means that there are no contents.
  func opened() throws(ByteStoreError) -> (any OpenDirectory)? {
    if let directory = state.withLock({ $0.directory }) { return directory }
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory(path)
      if platform.keeps(.syncOnOpen) { try directory.sync() }
    } catch {
      guard !error.isMissingFile else { return nil }
      guard error.isNotADirectory else { throw .system(error) }
      let kind = try? platform.fileSystem.openDirectory(storePath).kind(of: BlobName.folder)
      throw .nameTaken(path: path, by: kind ?? .file, needed: .directory)
    }
    return state.withLock { state in
      if let other = state.directory { return other }
      state.directory = directory
      return directory
    }
  }

  /// Syncs the names in the folder. After a failure, no content is accepted until the store is opened again.
  func syncNames() throws(ByteStoreError) {
    let directory = try createIfMissing()
    do throws(SystemFailure) { try directory.sync() } catch {
      if platform.keeps(.poison) { state.withLock { $0.failure = error } }
      throw .system(error)
    }
  }

  func names() throws(ByteStoreError) -> [BlobName] {
    guard let directory = try opened() else { return [] }
    return try system { () throws(SystemFailure) in try directory.names() }.compactMap(BlobName.init)
  }

  /// Opens a file. Returns nil if the file does not exist.
  func open(_ name: BlobName, _ access: FileAccess = .read) throws(ByteStoreError) -> (any OpenFile)? {
    guard let directory = try opened() else { return nil }
    do throws(SystemFailure) {
      return try directory.openFile(name.text, access)
    } catch {
      guard !error.isMissingFile else { return nil }
      throw ByteStoreError(error)
    }
  }

  /// Opens a file. Returns nil if there is no entry of this name or if the entry is not a regular file.
  func openIfFile(_ name: BlobName) throws(ByteStoreError) -> (any OpenFile)? {
    do throws(ByteStoreError) { return try open(name) } catch {
      guard case .nameTaken = error else { throw error }
      return nil
    }
  }

  /// The names that have the form of a content, a pack or a staged file, but whose entry is not a regular
  /// file.
  package func takenNames() throws(ByteStoreError) -> [TakenName] {
    guard let directory = try opened() else { return [] }
    return try system { () throws(SystemFailure) in
      var taken: [TakenName] = []
      for name in try directory.names().sorted() where BlobName(name) != nil {
        guard let kind = try directory.kind(of: name), kind != .file else { continue }
        taken.append(TakenName(name: "\(BlobName.folder)/\(name)", kind: kind, needed: .file))
      }
      return taken
    }
  }

  /// Deletes a file. Does nothing if the file does not exist or if the entry is not a regular file.
  func remove(_ name: BlobName) throws(ByteStoreError) {
    guard let directory = try opened() else { return }
    do throws(SystemFailure) {
      guard try directory.kind(of: name.text) == .file else { return }
      try directory.remove(name.text)
    } catch {
      guard !error.isMissingFile else { return }
      throw .system(error)
    }
  }

  /// Returns an unused pack number. No existing pack has this number, and no pack has had it since the store
  /// was opened.
  func allocatePackNumber() throws(ByteStoreError) -> UInt64 {
    try findPacks()
    return state.withLock { state in
      let number = state.nextPack ?? 1
      state.nextPack = number + 1
      return number
    }
  }

  /// The upper bound of all pack numbers in use.
  func packNumberEnd() throws(ByteStoreError) -> UInt64 {
    try findPacks()
    return state.withLock { $0.nextPack ?? 1 }
  }

  private func findPacks() throws(ByteStoreError) {
    guard state.withLock({ $0.nextPack }) == nil else { return }
    let last = try names().reduce(UInt64(0)) { last, name in
      // Numbers near the maximum cannot belong to a store.
      if case .pack(let number) = name, number < .max / 2 { max(last, number) } else { last }
    }
    state.withLock { $0.nextPack = max($0.nextPack ?? 0, last + 1) }
  }

  func damage(_ name: BlobName, at offset: UInt64, expected: String, found: String) -> ByteStoreError {
    .corrupted(Damage(file: "\(path)/\(name.text)", offset: offset, expected: expected, found: found))
  }
}

// The folder of a store's blobs, opened on the first use of it.
//
// Before anything in it is deleted, its names are made durable: what a killed process left may be there for us
// alone, and a file must not go while a power loss would bring back a name that depends on it (C8).
//
// After a sync of its names has failed, nothing more is kept in it until the store is opened again: the system may
// have forgotten the names that it could not write, and the next sync would succeed without them (F4).

/// Usable from any thread.
package final class BlobFolder: Sendable {
  let path: String
  let platform: Platform
  private let storePath: String
  private let state = Locked(State())

  private struct State {
    var directory: (any OpenDirectory)?
    /// The next number for a pack; nil before anyone has looked.
    var nextPack: UInt64?
    /// A sync of the names that failed.
    var failure: SystemFailure?
  }

  package init(store path: String, _ platform: Platform) {
    self.path = "\(path)/\(BlobName.folder)"
    storePath = path
    self.platform = platform
  }

  /// Makes it if need be. Throws once a sync of its names has failed.
  func made() throws(ByteStoreError) -> any OpenDirectory {
    if let failure = state.withLock({ $0.failure }) { throw .system(failure) }
    if let directory = try opened() { return directory }
    try system { () throws(SystemFailure) in try platform.fileSystem.createDirectory(path) }
    guard let directory = try opened() else {
      throw .system(SystemFailure(operation: "open", path: path, code: SystemFailure.missingFile))
    }
    return directory
  }

  /// Nil if there is none: then there are no blobs.
  func opened() throws(ByteStoreError) -> (any OpenDirectory)? {
    if let directory = state.withLock({ $0.directory }) { return directory }
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory(path)
      if platform.keeps(.syncOnOpen) { try directory.sync() }
    } catch {
      guard !error.isMissingFile else { return nil }
      guard error.isNoDirectory else { throw .system(error) }
      let kind = try? platform.fileSystem.openDirectory(storePath).kind(of: BlobName.folder)
      throw .nameTaken(path: path, by: kind ?? .file, needed: .directory)
    }
    return state.withLock { state in
      if let other = state.directory { return other }
      state.directory = directory
      return directory
    }
  }

  /// Puts the names on stable storage. If that fails, no other attempt is made, by nobody.
  func syncNames() throws(ByteStoreError) {
    let directory = try made()
    do throws(SystemFailure) { try directory.sync() } catch {
      if platform.keeps(.poison) { state.withLock { $0.failure = error } }
      throw .system(error)
    }
  }

  func names() throws(ByteStoreError) -> [BlobName] {
    guard let directory = try opened() else { return [] }
    return try system { () throws(SystemFailure) in try directory.names() }.compactMap(BlobName.init)
  }

  /// Nil if there is none.
  func open(_ name: BlobName, _ access: FileAccess = .read) throws(ByteStoreError) -> (any OpenFile)? {
    guard let directory = try opened() else { return nil }
    do throws(SystemFailure) {
      return try directory.openFile(name.text, access)
    } catch {
      guard !error.isMissingFile else { return nil }
      throw ByteStoreError(error)
    }
  }

  /// Nil also if what has the name is no file.
  func openIfFile(_ name: BlobName) throws(ByteStoreError) -> (any OpenFile)? {
    do throws(ByteStoreError) { return try open(name) } catch {
      guard case .nameTaken = error else { throw error }
      return nil
    }
  }

  /// Names of contents that something else has.
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

  /// Fine if there is none. What is no file stays: it is not the store's.
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

  /// A number that no pack has or had since the store was opened.
  func takePackNumber() throws(ByteStoreError) -> UInt64 {
    try findPacks()
    return state.withLock { state in
      let number = state.nextPack ?? 1
      state.nextPack = number + 1
      return number
    }
  }

  /// No pack with this number or a later one has been begun.
  func packsEnd() throws(ByteStoreError) -> UInt64 {
    try findPacks()
    return state.withLock { $0.nextPack ?? 1 }
  }

  private func findPacks() throws(ByteStoreError) {
    guard state.withLock({ $0.nextPack }) == nil else { return }
    let last = try names().reduce(UInt64(0)) { last, name in
      // Numbers near the end are no store's.
      if case .pack(let number) = name, number < .max / 2 { max(last, number) } else { last }
    }
    state.withLock { $0.nextPack = max($0.nextPack ?? 0, last + 1) }
  }

  func damage(_ name: BlobName, _ offset: UInt64, _ expected: String, _ found: String) -> ByteStoreError {
    .corrupted(Damage(file: "\(path)/\(name.text)", offset: offset, expected: expected, found: found))
  }
}

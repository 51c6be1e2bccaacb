// The file system interface (Sources/Engine/ByteStore/Files/FileSystem.swift) on a simulated disk.

package import ByteStore
import Libc

extension SimulatedDisk: FileSystem {
  /// Creates all missing directories of the path. Also syncs the parents of directories that exist, because
  /// an earlier call may have died between the creation and the sync. If a sync fails, the directory is
  /// removed if it is empty. The next call then creates the directory again, instead of relying on a name
  /// that the failed sync dropped (F4).
  package func createDirectory(_ path: String) throws(SystemFailure) {
    var parent = "/"
    for name in path.split(separator: "/").map(String.init) {
      try makeDirectory(name, in: parent)
      do throws(SystemFailure) {
        try openDirectory(parent).sync()
      } catch {
        withState { $0.image.removeEmptyDirectory(name, in: parent) }
        throw error
      }
      parent += parent == "/" ? name : "/\(name)"
    }
  }

  private func makeDirectory(_ name: String, in parent: String) throws(SystemFailure) {
    let path = parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    try perform(.makeDirectory, path) { state, _ throws(SystemFailure) in
      guard case .directory(let directory) = state.image.entry(at: parent) else {
        throw SystemFailure(.makeDirectory, path, ENOENT)
      }
      guard state.image.directories[directory].live[name] == nil else { return }
      state.image.addDirectory(name, in: directory)
    }
  }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    try perform(.openDirectory, path) { state, _ throws(SystemFailure) in
      switch state.image.entry(at: path) {
      case .directory(let directory): SimulatedDirectory(path, directory, self)
      case .file, .other: throw SystemFailure(.openDirectory, path, ENOTDIR)
      case nil: throw SystemFailure(.openDirectory, path, ENOENT)
      }
    }
  }
}

private final class SimulatedDirectory: OpenDirectory {
  let path: String
  private let directory: Int
  private let disk: SimulatedDisk

  init(_ path: String, _ directory: Int, _ disk: SimulatedDisk) {
    self.path = path
    self.directory = directory
    self.disk = disk
  }

  func isAtItsPath() -> Bool {
    guard case .directory(let found) = disk.withState({ $0.image.entry(at: path) }) else { return false }
    return found == directory
  }

  func names() throws(SystemFailure) -> [String] {
    try disk.perform(.list, path) { state, _ in
      state.image.directories[directory].live.keys.sorted().shuffled(using: &state.random)
    }
  }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    try disk.perform(.lookUp, path(of: name)) { state, _ in
      state.image.directories[directory].live[name]?.kind
    }
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    let path = path(of: name)
    return try disk.perform(.create, path) { state, _ throws(SystemFailure) in
      if let entry = state.image.directories[directory].live[name] {
        throw SystemFailure(.create, path, EEXIST, entry.kind)
      }
      try disk.requireSpaceForFile(path, &state)
      return SimulatedFile(path, state.image.addFile(name, in: directory), .readAndWrite, disk)
    }
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    let path = path(of: name)
    return try disk.perform(.open, path) { state, _ throws(SystemFailure) in
      switch state.image.directories[directory].live[name] {
      case .file(let file): SimulatedFile(path, file, access, disk)
      case .directory: throw SystemFailure(.open, path, EISDIR, .directory)
      case .other(.link): throw SystemFailure(.open, path, ELOOP, .link)
      case .other(.socket): throw SystemFailure(.open, path, ENXIO, .socket)
      case .other(let kind): throw SystemFailure(.open, path, EINVAL, kind)
      case nil: throw SystemFailure(.open, path, ENOENT)
      }
    }
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try disk.perform(
      .rename, path(of: name), .name(newName),
      failing: { state, fault in
        // If a rename fails, its caller does not know whether the rename took place.
        guard fault == .inputOutput, state.random.oneIn(2) else { return }
        try? rename(name, to: newName, &state)
      },
      { state, _ throws(SystemFailure) in try rename(name, to: newName, &state) })
  }

  private func rename(
    _ name: String, to newName: String, _ state: inout SimulatedDisk.State
  ) throws(SystemFailure) {
    guard let entry = state.image.directories[directory].live[name] else {
      throw SystemFailure(.rename, path(of: name), ENOENT)
    }
    if case .directory = state.image.directories[directory].live[newName] {
      throw SystemFailure(.rename, path(of: newName), EISDIR, .directory)
    }
    state.image.apply(.rename(name, to: newName, entry), in: directory)
  }

  func remove(_ name: String) throws(SystemFailure) {
    try disk.perform(
      .remove, path(of: name),
      failing: { state, fault in
        guard fault == .inputOutput, state.random.oneIn(2) else { return }
        try? remove(name, &state)
      },
      { state, _ throws(SystemFailure) in try remove(name, &state) })
  }

  private func remove(_ name: String, _ state: inout SimulatedDisk.State) throws(SystemFailure) {
    guard let entry = state.image.directories[directory].live[name] else {
      throw SystemFailure(.remove, path(of: name), ENOENT)
    }
    guard entry.kind != .directory else {
      throw SystemFailure(.remove, path(of: name), EISDIR, .directory)
    }
    state.image.apply(.remove(name), in: directory)
  }

  func sync() throws(SystemFailure) {
    try disk.perform(
      .syncDirectory, path,
      failing: { state, fault in
        guard fault != .interrupted else { return }
        state.image.failToSyncDirectory(directory, &state.random)
      },
      { state, _ in
        state.counters.directorySyncs += 1
        state.image.syncDirectory(directory)
      })
  }

  func durability() throws(SystemFailure) -> DurabilityReport {
    try disk.perform(.durability, path) { _, _ in
      let mounts = disk.options.mounts.filter { path == $0.key || path.hasPrefix("\($0.key)/") }
      return mounts.max { $0.key.count < $1.key.count }?.value ?? disk.options.durability
    }
  }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    let path = name.map { "\(self.path)/\($0)" } ?? self.path
    return try disk.perform(.lock, path) { state, _ throws(SystemFailure) in
      let entry = name.flatMap { state.image.directories[directory].live[$0] }
      if state.image.locked[~directory] == nil, let kind = entry?.kind, kind != .file {
        throw SystemFailure(.lock, path, EINVAL, kind)
      }
      // Every lock is a lock on the directory itself, because some openers may not create a file. A directory
      // has no file number, so `~directory` identifies the lock.
      guard let holding = state.image.lock(~directory) else { return .held(by: nil) }
      if access == .readAndWrite, let name, entry == nil {
        _ = state.image.addFile(name, in: directory)
      }
      return .acquired(SimulatedLock(~directory, holding, disk))
    }
  }

  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    SimulatedReaderLock(directory, disk)
  }

  private func path(of name: String) -> String { "\(path)/\(name)" }
}

/// Tells readers whether a writer holds the lock of the directory. Readers themselves are not seen.
private struct SimulatedReaderLock: ReaderLock {
  private let directory: Int
  private let disk: SimulatedDisk

  init(_ directory: Int, _ disk: SimulatedDisk) {
    self.directory = directory
    self.disk = disk
  }

  func set(_ mark: WriterMark) -> Bool {
    if mark == .appends { disk.withState { _ = $0.image.appending.insert(~directory) } }
    return true
  }

  func isShared() -> Bool { false }
  func share() -> Bool { true }
  /// The marks end with the lock of the directory.
  func mayHave(_ mark: WriterMark) -> Bool {
    disk.withState { state in
      guard state.image.locked[~directory] != nil else { return false }
      return mark == .isOpen || state.image.appending.contains(~directory)
    }
  }

  func release() {}
}

private final class SimulatedFile: OpenFile {
  let path: String
  private let file: Int
  private let access: FileAccess
  private let disk: SimulatedDisk

  init(_ path: String, _ file: Int, _ access: FileAccess, _ disk: SimulatedDisk) {
    self.path = path
    self.file = file
    self.access = access
    self.disk = disk
  }

  func size() throws(SystemFailure) -> UInt64 {
    try disk.perform(.size, path) { state, _ in UInt64(state.image.files[file].live.size) }
  }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let start = Int(offset)
    let asked = buffer.byteCount
    return try buffer.withUnsafeMutableBytes { bytes throws(SystemFailure) in
      try disk.perform(
        .read, path, .range(offset: start, count: asked)
      ) { state, isShort throws(SystemFailure) in
        var count = isShort && asked > 1 ? 1 + state.random.below(asked - 1) : asked
        if let unreadable = disk.options.unreadable {
          guard let given = unreadable.readableBytes(of: count, at: start, in: path) else {
            throw SystemFailure(.read, path, EIO)
          }
          count = given
        }
        let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
        let got = state.image.files[file].live.read(into: part, at: start)
        state.counters.bytesRead += got
        return got
      }
    }
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    guard access == .readAndWrite else { throw SystemFailure(.write, path, EBADF) }
    let start = Int(offset)
    return try bytes.withUnsafeBytes { bytes throws(SystemFailure) in
      try disk.perform(
        .write, path, .range(offset: start, count: bytes.count),
        failing: { state, fault in
          // Some bytes may have been written before the device failed.
          guard fault == .inputOutput, state.random.oneIn(2) else { return }
          let count = state.random.below(bytes.count + 1)
          state.image.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: start, in: file)
        },
        { state, isShort throws(SystemFailure) in
          let asked = isShort && bytes.count > 1 ? 1 + state.random.below(bytes.count - 1) : bytes.count
          let count = try disk.availableBytes(for: asked, at: start, ofFile: file, path, &state)
          state.image.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: start, in: file)
          disk.garble(path, start..<start + count, ofFile: file, &state)
          state.counters.bytesWritten += count
          return count
        })
    }
  }

  func sync() throws(SystemFailure) {
    try disk.perform(
      .syncFile, path,
      failing: { state, fault in
        guard fault != .interrupted else { return }
        state.image.failToSyncFile(file, &state.random)
      },
      { state, _ in
        state.counters.fileSyncs += 1
        state.image.syncFile(file)
      })
  }

  func close() {
    // The system's close reports nothing useful to the engine, because all relevant bytes are synced.
    try? disk.perform(.close, path) { _, _ in }
  }
}

/// The lock disappears with a crash, because the next process uses a new disk.
private final class SimulatedLock: DirectoryLock {
  private let file: Int
  private let holding: Int
  private let disk: SimulatedDisk

  init(_ file: Int, _ holding: Int, _ disk: SimulatedDisk) {
    self.file = file
    self.holding = holding
    self.disk = disk
  }

  deinit { release() }

  func release() { disk.withState { $0.image.unlock(file, holding) } }
}

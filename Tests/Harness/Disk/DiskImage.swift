// The contents of a simulated disk as a value: visible, durable and pending bytes.
//
// Invariants:
//   - `durable` changes only by a sync, and only by applying `pending`; it is never a copy of `live`.
//     Bytes that a failed sync dropped stay visible and stay lost (docs/reliability.md, F4, T2).
//   - `pending` holds the operations since the last sync, oldest first.
//   - A sync of a file does not sync the directory that names it, and vice versa.

package import ByteStore

package struct DiskImage: Sendable {
  enum Entry: Hashable, Sendable {
    case file(Int)
    case directory(Int)
    /// An entry of another kind, which has no bytes.
    case other(EntryKind)

    var kind: EntryKind {
      switch self {
      case .file: .file
      case .directory: .directory
      case .other(let kind): kind
      }
    }
  }

  struct File: Sendable {
    var live = PagedBytes()
    var durable = PagedBytes()
    var pending: [PendingWrite] = []
    /// Whether a sync has failed. If so, `live` may contain bytes that no later sync writes.
    var hasFailedSync = false

    /// The bytes that would be durable after a successful sync.
    var synced: PagedBytes {
      guard hasFailedSync else { return live }
      return pending.reduce(into: durable) { $0.take($1.range, from: $1.after) }
    }

    mutating func sync() {
      durable = synced
      pending = []
    }
  }

  /// A write that no sync has covered.
  struct PendingWrite: Sendable {
    var range: Range<Int>
    /// The bytes of the file after the write; only `range` belongs to the write.
    var after: PagedBytes
  }

  struct Directory: Sendable {
    var live: [String: Entry] = [:]
    var durable: [String: Entry] = [:]
    var pending: [NameChange] = []

    mutating func apply(_ change: NameChange) {
      change.apply(to: &live)
      pending.append(change)
    }

    mutating func sync() {
      for change in pending { change.apply(to: &durable) }
      pending = []
    }
  }

  /// An atomic change of a directory. For example, a rename removes the old name and adds the new name in one
  /// step.
  enum NameChange: Sendable {
    case add(String, Entry)
    case remove(String)
    case rename(String, to: String, Entry)

    func apply(to names: inout [String: Entry]) {
      switch self {
      case .add(let name, let entry):
        names[name] = entry
      case .remove(let name):
        names[name] = nil
      case .rename(let name, let newName, let entry):
        names[name] = nil
        names[newName] = entry
      }
    }
  }

  static let root = 0

  var files: [File] = []
  var directories = [Directory()]
  /// The locks that a living process holds, by file number. The value is the number of the lock operation. A
  /// lock on a directory has the complement of the directory's number.
  var locked: [Int: Int] = [:]
  /// The locked directories whose writers may be appending to a log.
  var appending: Set<Int> = []
  private var locksTaken = 0
  /// Increases with every change of `live`, `durable` or `pending`.
  package private(set) var version = 0

  package init() {}

  // MARK: Changing

  mutating func addFile(_ name: String, in directory: Int) -> Int {
    files.append(File())
    apply(.add(name, .file(files.count - 1)), in: directory)
    return files.count - 1
  }

  mutating func addDirectory(_ name: String, in directory: Int) {
    directories.append(Directory())
    apply(.add(name, .directory(directories.count - 1)), in: directory)
  }

  mutating func removeEmptyDirectory(_ name: String, in path: String) {
    guard case .directory(let directory) = entry(at: path),
      case .directory(let removed) = directories[directory].live[name],
      directories[removed].live.isEmpty
    else { return }
    apply(.remove(name), in: directory)
  }

  mutating func apply(_ change: NameChange, in directory: Int) {
    version += 1
    directories[directory].apply(change)
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, in file: Int) {
    guard !bytes.isEmpty else { return }
    version += 1
    files[file].live.write(bytes, at: offset)
    files[file].pending.append(
      PendingWrite(range: offset..<offset + bytes.count, after: files[file].live))
  }

  mutating func syncFile(_ file: Int) {
    guard !files[file].pending.isEmpty else { return }
    version += 1
    files[file].sync()
  }

  mutating func syncDirectory(_ directory: Int) {
    guard !directories[directory].pending.isEmpty else { return }
    version += 1
    directories[directory].sync()
  }

  /// Applies a failed sync. Some of the pending bytes become durable and the others are dropped, but reads
  /// still return the dropped bytes.
  mutating func failToSyncFile(_ file: Int, _ random: inout SeededRandom) {
    guard !files[file].pending.isEmpty else { return }
    version += 1
    let arrived = SurvivingSectors(of: files[file].pending, &random)
    files[file].durable = arrived.applied(to: files[file].durable)
    files[file].pending = []
    files[file].hasFailedSync = true
  }

  mutating func failToSyncDirectory(_ directory: Int, _ random: inout SeededRandom) {
    guard !directories[directory].pending.isEmpty else { return }
    version += 1
    let arrives = random.oneIn(2)
    for change in directories[directory].pending where arrives && random.oneIn(2) {
      change.apply(to: &directories[directory].durable)
    }
    directories[directory].pending = []
  }

  /// Locks the file. Returns the number of the lock operation, or nil if the lock is already held.
  mutating func lock(_ file: Int) -> Int? {
    guard locked[file] == nil else { return nil }
    locksTaken += 1
    locked[file] = locksTaken
    return locksTaken
  }

  mutating func unlock(_ file: Int, _ holding: Int) {
    guard locked[file] == holding else { return }
    locked[file] = nil
    appending.remove(file)
  }

  // MARK: Looking

  func entry(at path: some StringProtocol) -> Entry? {
    path.split(separator: "/").reduce(.directory(Self.root)) { entry, name in
      guard case .directory(let directory) = entry else { return nil }
      return directories[directory].live[String(name)]
    }
  }

  /// Whether a power loss at this point would change nothing that readers see.
  package var isAllDurable: Bool {
    files.allSatisfy { $0.pending.isEmpty && !$0.hasFailedSync }
      && directories.allSatisfy { $0.pending.isEmpty && $0.live == $0.durable }
  }

  /// The paths of all files, sorted.
  package var paths: [String] {
    func paths(in directory: Int, _ prefix: String) -> [String] {
      directories[directory].live.flatMap { name, entry in
        switch entry {
        case .file, .other: ["\(prefix)/\(name)"]
        case .directory(let inner): paths(in: inner, "\(prefix)/\(name)")
        }
      }
    }
    return paths(in: Self.root, "").sorted()
  }

  /// The total size of all named files, each rounded up to whole pages.
  var bytesInUse: Int {
    directories.reduce(0) { sum, directory in
      directory.live.values.reduce(sum) { sum, entry in
        guard case .file(let file) = entry else { return sum }
        return sum + files[file].live.size.roundedUp(toMultipleOf: PagedBytes.pageBytes)
      }
    }
  }

  /// Returns the visible bytes of the file at this path; nil if there is no such file.
  package func contents(of path: String) -> PagedBytes? {
    guard case .file(let file) = entry(at: path) else { return nil }
    return files[file].live
  }

  /// Returns the ranges of this file that were written after `earlier` and never synced, if `survivor` has
  /// bytes there that are neither all zero nor the durable ones.
  package func unsyncedBytes(
    of path: String, since earlier: DiskImage, survivingIn survivor: DiskImage
  ) -> [Range<Int>] {
    guard case .file(let index) = entry(at: path), let rest = survivor.contents(of: path) else { return [] }
    let file = files[index]
    let old = index < earlier.files.count ? earlier.files[index].pending.map(\.range) : []
    return file.pending.map(\.range).filter { range in
      !old.contains(range) && rest.hasNonZero(in: range)
        && rest.bytes(in: range) != file.durable.bytes(in: range)
    }
  }
}

extension DiskImage {
  // MARK: Tampering

  /// Replaces or creates a file, as an external program could. The change is durable at once.
  package mutating func replace(_ path: String, with contents: PagedBytes) {
    version += 1
    if case .file(let file) = entry(at: path) {
      files[file] = File(live: contents, durable: contents)
    } else {
      files.append(File(live: contents, durable: contents))
      name(path, .file(files.count - 1))
    }
  }

  /// Replaces the entry at this path with an entry that is not a file of a store. The change is durable at
  /// once.
  package mutating func putEntry(_ kind: EntryKind, at path: String) {
    version += 1
    switch kind {
    case .file:
      files.append(File())
      name(path, .file(files.count - 1))
    case .directory:
      directories.append(Directory())
      name(path, .directory(directories.count - 1))
    case .link, .pipe, .socket, .device: name(path, .other(kind))
    }
  }

  /// Returns the kind of the entry at this path; nil if there is no entry.
  package func kind(of path: String) -> EntryKind? { entry(at: path)?.kind }

  package mutating func delete(_ path: String) {
    version += 1
    name(path, nil)
  }

  private mutating func name(_ path: String, _ file: Entry?) {
    guard let slash = path.lastIndex(of: "/"), case .directory(let directory) = entry(at: path[..<slash])
    else { preconditionFailure("no directory for \(path)") }
    let name = String(path[path.index(after: slash)...])
    directories[directory].live[name] = file
    directories[directory].durable[name] = file
  }
}

// The names that a salvage gives to its incomplete files and to the originals in quarantine.
//
//   salvaged-NAME         a file of the new store, while the old store is still in place
//   set-aside-NNNN-NAME   an original in quarantine; NNNN is the number of the salvage
//
// The switch from the old store to the new one:
//
//   1. salvaged-MANIFEST is complete, and with it the new store
//   2. MANIFEST goes to quarantine; the old store cannot be opened any more, and a salvage that finds only
//      salvaged-MANIFEST resumes here
//   3. all other originals go to quarantine
//   4. the new files get their final names
//   5. MANIFEST is written, and salvaged-MANIFEST is deleted
//
// Each step is durable before the next one begins. After a failed sync a new name may be visible but not
// durable (F4). A resumed switch therefore repeats the renames that were already done. While
// salvaged-MANIFEST exists beside MANIFEST, a salvage writes MANIFEST again.

package import ByteStore

/// A directory that replaces each file name with its salvaged name. The writers of the new store use it.
struct SalvageDirectory: OpenDirectory {
  let directory: any OpenDirectory

  var path: String { directory.path }

  func names() throws(SystemFailure) -> [String] { try directory.names() }
  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    try directory.kind(of: StoreFile.salvaged(name))
  }
  func durability() throws(SystemFailure) -> DurabilityReport { try directory.durability() }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    try directory.createFile(StoreFile.salvaged(name))
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    try directory.openFile(StoreFile.salvaged(name), access)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try directory.rename(StoreFile.salvaged(name), to: StoreFile.salvaged(newName))
  }

  func remove(_ name: String) throws(SystemFailure) { try directory.remove(StoreFile.salvaged(name)) }

  func sync() throws(SystemFailure) { try directory.sync() }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    try directory.lock(name, access)
  }
}

/// Replaces the old store with the new one.
struct SalvageSwitch {
  let directory: any OpenDirectory
  let platform: Platform
  /// The manifest of the new store. The files that it lists have salvaged names, or already have their final
  /// names.
  let manifest: Manifest
  private(set) var quarantined: [String] = []
  /// The number in the quarantine names; nil until it is chosen.
  private var number: UInt64?

  init(
    _ manifest: Manifest, _ directory: any OpenDirectory, platform: Platform, number: UInt64?
  ) {
    self.number = number
    self.manifest = manifest
    self.directory = directory
    self.platform = platform
  }

  /// The manifest of a salvage that was interrupted during the switch, or nil.
  static func interrupted(
    _ names: Set<String>, _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> Manifest? {
    guard !names.contains(StoreFile.manifest),
      let file = try TolerantFile(StoreFile.salvaged(StoreFile.manifest), in: directory)
    else { return nil }
    defer { file.close() }
    guard let bytes = try file.read(Manifest.bytesMax, at: 0),
      let manifest = try? Manifest(decoding: bytes.rawSpan, file: file.path),
      manifest.fileNames.allSatisfy({ names.contains($0) || names.contains(StoreFile.salvaged($0)) })
    else { return nil }
    return manifest
  }

  /// Runs the switch. If `isResuming` is true, resumes an interrupted switch.
  mutating func run(isResuming: Bool) throws(ByteStoreError) {
    if isResuming { try revertRenames() }
    try ByteStore.write(manifest, SalvageDirectory(directory: directory), platform: platform)
    let names = Set(try system { () throws(SystemFailure) in try directory.names() })
    try makeRoom(names)
    let moved = manifest.fileNames.filter { names.contains(StoreFile.salvaged($0)) }
    try rename(moved.sorted().map { (StoreFile.salvaged($0), $0) })
    try ByteStore.write(manifest, directory, platform: platform)
    try Self.removeUnfinished(directory)
  }

  /// Deletes files of an incomplete salvage, or files that are no longer needed. All data in these files
  /// exists elsewhere.
  static func removeUnfinished(_ directory: any OpenDirectory) throws(ByteStoreError) {
    try system { () throws(SystemFailure) in
      for name in try directory.names() where StoreFile.isSalvaged(name) { try directory.remove(name) }
    }
  }

  private mutating func makeRoom(_ names: Set<String>) throws(ByteStoreError) {
    var originals: Set<String> = []
    for name in names.subtracting(manifest.fileNames) where try isOriginal(name) { originals.insert(name) }
    let number = number ?? Self.lastQuarantineNumber(Array(names)) + 1
    quarantined += originals.sorted().map { StoreFile.quarantined($0, number) }
    if originals.contains(StoreFile.manifest) {
      try rename([(StoreFile.manifest, StoreFile.quarantined(StoreFile.manifest, number))])
    }
    try rename(
      originals.subtracting([StoreFile.manifest]).sorted().map { ($0, StoreFile.quarantined($0, number)) })
  }

  private func isOriginal(_ name: String) throws(ByteStoreError) -> Bool {
    if name == StoreFile.recycledLog { return try SalvageSources.isLog(name, directory) }
    return name == StoreFile.manifest || name == StoreFile.newManifest
      || StoreFile.logNumber(of: name) != nil || StoreFile.isSegmentOrCheckpoint(name)
  }

  static func lastQuarantineNumber(_ names: [String]) -> UInt64 {
    names.compactMap { StoreFile.quarantineParts(of: $0)?.number }.filter { $0 < .max / 2 }.max() ?? 0
  }

  /// Reverts the renames of the interrupted switch, except the rename of the manifest, because the old store
  /// must not become usable again. The quarantined manifest gets the next number instead.
  private mutating func revertRenames() throws(ByteStoreError) {
    let names = Set(try system { () throws(SystemFailure) in try directory.names() })
    var files: [String] = []
    for name in names where StoreFile.quarantineParts(of: name) != nil {
      if try isFile(name) { files.append(name) }
    }
    // Count only regular files. Entries of another kind are quarantined separately, possibly earlier in this
    // salvage.
    let last = Self.lastQuarantineNumber(files)
    let next = Self.lastQuarantineNumber(Array(names)) + 1
    number = next
    var pairs = manifest.fileNames.intersection(names).sorted().map { ($0, StoreFile.salvaged($0)) }
    for name in files.sorted() {
      guard let (number, original) = StoreFile.quarantineParts(of: name), number == last else { continue }
      if original == StoreFile.manifest {
        quarantined.append(StoreFile.quarantined(original, next))
        pairs.append((name, StoreFile.quarantined(original, next)))
      } else if !names.contains(original) {
        pairs.append((name, original))
      }
    }
    try rename(pairs)
  }

  private func isFile(_ name: String) throws(ByteStoreError) -> Bool {
    try system { () throws(SystemFailure) in try directory.kind(of: name) == .file }
  }

  private func rename(_ pairs: [(from: String, to: String)]) throws(ByteStoreError) {
    try system { () throws(SystemFailure) in
      for (from, to) in pairs { try directory.rename(from, to: to) }
      try directory.sync()
    }
  }
}

extension ByteStore {
  /// Whether original files of a salvage are still in quarantine. They may contain entries that the
  /// store lacks.
  package func hasQuarantinedOriginals() throws(ByteStoreError) -> Bool {
    let names: [String]
    do throws(SystemFailure) { names = try directory.names() } catch { throw .system(error) }
    return names.contains { name in
      guard let original = StoreFile.quarantineParts(of: name)?.original else { return false }
      return StoreFile.logNumber(of: original) != nil || StoreFile.isSegmentOrCheckpoint(original)
    }
  }
}

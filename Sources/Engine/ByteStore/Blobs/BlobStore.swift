// Contents by their SHA-256: each stored once, packed with others if it is small, else in a file of its own.
//
// The store of blobs knows no names and counts no references. Whoever keeps records of blobs commits them after
// `keep` has returned, and calls `remove` after a commit that took the last of them away (docs/reliability.md, C6).
//
//   BlobWriter   takes a content piece by piece; what came of it is a `FinishedBlob`
//   keep         gives it a place that survives everything
//   reader       reads parts of it, each verified first
//   remove       takes its own file away; what is in a pack goes with the pack

/// Usable from any thread. Two threads may not keep or remove the same content at once.
package final class BlobStore: Sendable {
  package struct Options: Sendable {
    /// A new pack is begun behind so many bytes.
    package var packBytesMax: UInt64 = 64 << 20
    /// Contents up to this size are packed.
    package var packedBytesMax = BlobFormat.packedBytesMax
    /// A content on its way is synced after each so many bytes; what was synced counts as progress.
    package var syncBytes: UInt64 = 8 << 20

    package init() {}
  }

  package let options: Options
  let folder: BlobFolder
  let removals = Removals()
  private let packWriter: PackWriter
  private let packReader: PackReader

  package init(store path: String, _ options: Options, _ platform: Platform) {
    precondition(options.packedBytesMax <= BlobFormat.packedBytesMax, "a frame holds 1 MiB at most")
    self.options = options
    folder = BlobFolder(store: path, platform)
    packWriter = PackWriter(folder, packBytesMax: options.packBytesMax)
    packReader = PackReader(folder)
  }

  package var path: String { folder.path }

  // MARK: Keeping

  /// Returns once the content is on stable storage under its name. If it fails, nothing is left of it, but for a file under
  /// its name that nobody relies on before the next opening: what no record names, a sweep removes.
  package func keep(_ blob: FinishedBlob) throws(ByteStoreError) -> BlobPlace {
    switch blob.content {
    case .memory(let frame): return try packWriter.append(frame, of: Int(blob.byteCount), blob.id)
    case .staged(let number):
      do throws(ByteStoreError) {
        try rename(number, to: blob.id)
      } catch {
        try? folder.remove(.staged(number))
        throw error
      }
      return BlobPlace(byteCount: blob.byteCount, home: .ownFile)
    }
  }

  private func rename(_ number: StagedNumber, to id: BlobID) throws(ByteStoreError) {
    let directory = try folder.made()
    let name = BlobName.blob(id).text
    removals.keep(.blob(id))
    try system { () throws(SystemFailure) in
      try directory.rename(BlobName.staged(number).text, to: name)
    }
    // If that fails, the file stays: a record may name it already, whose damaged copy it has replaced. Nothing that is kept
    // later relies on it, as nothing more is kept.
    if folder.platform.keeps(.syncDirectoryOfBlob) { try folder.syncNames() }
  }

  /// For a content that turned out to be there already, or that nobody wants any more.
  package func discard(_ blob: FinishedBlob) {
    if case .staged(let number) = blob.content { discardStaged(number) }
  }

  /// What is left if that fails, the next sweep removes.
  package func discardStaged(_ number: StagedNumber) { try? folder.remove(.staged(number)) }

  // MARK: Reading

  /// Reads a content that is there. One that was removed meanwhile is reported as damage: whoever has the records
  /// looks whether they still name it.
  package func reader(_ id: BlobID, at place: BlobPlace) throws(ByteStoreError) -> BlobReader {
    guard place.byteCount > 0 || place.home == .ownFile else { return BlobReader(id, place, .empty) }
    switch place.home {
    case .ownFile: return BlobReader(id, place, .file(try BlobFile(id, place, folder)))
    case .pack(let number, let offset, let storedBytes, let checksum):
      let frame = PackedBody(offset: offset, storedBytes: Int(storedBytes), checksum: checksum)
      return BlobReader(id, place, .pack(try packReader.file(number), frame))
    }
  }

  /// Throws `corrupted` unless the content is what its name says, and `closed` if it is cancelled before that is known.
  package func verify(
    _ id: BlobID, at place: BlobPlace, isCancelled: () -> Bool = { false }
  ) throws(ByteStoreError) {
    let reader = try reader(id, at: place)
    var digest = SHA256Stream()
    let bufferBytes = min(UInt64(BlobFormat.chunkBytes), max(1, place.byteCount))
    var buffer = [UInt8](repeating: 0, count: Int(bufferBytes))
    var offset: UInt64 = 0
    while offset < place.byteCount {
      guard !isCancelled() else { throw .closed(directory: folder.path) }
      let count = try buffer.withMutableBytes { target throws(ByteStoreError) in
        try reader.read(into: &target, at: offset)
      }
      guard count > 0 else { break }
      digest.update(buffer.rawSpan.extracting(first: count))
      offset += UInt64(count)
    }
    guard digest.digest == id.bytes else {
      throw .corrupted(
        Damage(
          file: reader.path, offset: 0, expected: "the content of \(id)",
          found: "another, with digest \(BlobID(digest: digest.digest))"))
    }
  }

  // MARK: Removing

  /// The content's own file. What is in a pack stays until the pack goes.
  package func remove(_ id: BlobID, at place: BlobPlace) throws(ByteStoreError) {
    guard place.home == .ownFile, removals.mayRemove(.blob(id)) else { return }
    try folder.remove(.blob(id))
  }

  package func removePack(_ number: UInt64) throws(ByteStoreError) {
    guard number < (try packWriter.closedEnd()) else { return }
    packReader.forget(number)
    guard removals.mayRemove(.pack(number)) else { return }
    try folder.remove(.pack(number))
  }

  // MARK: Looking around

  /// What there are files of.
  package struct Inventory: Sendable {
    package var blobs: [BlobID] = []
    package var staged: [StagedNumber] = []
    /// Those that get nothing more.
    package var packs: [UInt64] = []
  }

  package func inventory() throws(ByteStoreError) -> Inventory {
    // Read before the names: a pack that is begun meanwhile has no smaller number.
    let end = try packWriter.closedEnd()
    var inventory = Inventory()
    for name in try folder.names() {
      switch name {
      case .blob(let id): inventory.blobs.append(id)
      case .staged(let number): inventory.staged.append(number)
      case .pack(let number): if number < end { inventory.packs.append(number) }
      }
    }
    return inventory
  }

  /// The pack that contents are added to, with its size.
  package var currentPack: (number: UInt64, bytes: UInt64)? { packWriter.current }

  /// Contents that come now are added to a new pack.
  package func closePack() { packWriter.closePack() }

  /// How large a pack is; 0 if there is none.
  package func bytes(ofPack number: UInt64) throws(ByteStoreError) -> UInt64 {
    guard let file = try folder.open(.pack(number)) else { return 0 }
    defer { file.close() }
    return try system { () throws(SystemFailure) in try file.size() }
  }
}

extension [UInt8] {
  /// Borrows the bytes to be written to.
  mutating func withMutableBytes<Result, Failure: Error>(
    _ body: (inout MutableRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var span = mutableSpan
    var target = unsafe span.mutableBytes
    return try body(&target)
  }
}

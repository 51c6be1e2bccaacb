// Content-addressed storage by SHA-256. Small contents share packs, large ones have their own files.
//
// This layer knows no names and counts no references. Its caller keeps records of contents. The caller
// commits a record after `keep` returned, and calls `remove` after a commit that removed the last record
// (docs/reliability.md, C6).
//
//   BlobWriter   takes a content in pieces and returns a `FinishedBlob`
//   keep         makes it durable under its id
//   reader       reads ranges of it, each verified first
//   remove       deletes its own file; a packed content goes with its pack

/// The contents of a store. Usable from any thread. Two threads must not keep or remove equal contents at the
/// same time.
package final class BlobStore: Sendable {
  package struct Options: Sendable {
    /// The size at which a pack is full. The next content then starts a new pack.
    package var packBytesMax: UInt64 = 64 << 20
    /// The maximum size of a packed content.
    package var packedBytesMax = BlobFormat.packedBytesMax
    /// The number of bytes between two syncs of an incomplete content. After a crash, an upload can continue
    /// from the synced bytes.
    package var syncBytes: UInt64 = 8 << 20

    package init() {}
  }

  package let options: Options
  let folder: BlobFolder
  let removals = DeferredRemovals()
  private let packWriter: PackWriter
  private let packReader: PackReader

  package init(store path: String, _ options: Options, platform: Platform) {
    precondition(options.packedBytesMax <= BlobFormat.packedBytesMax, "a frame holds 1 MiB at most")
    self.options = options
    folder = BlobFolder(store: path, platform)
    packWriter = PackWriter(folder, packBytesMax: options.packBytesMax)
    packReader = PackReader(folder)
  }

  package var path: String { folder.path }

  // MARK: Storing

  /// Stores the content. Returns when it is on stable storage under its name. After a failure, nothing of the
  /// content remains, except possibly a file of that name. Until the store is opened again, no commit relies
  /// on that file. A sweep deletes files that no record names.
  package func keep(_ blob: FinishedBlob) throws(ByteStoreError) -> BlobLocation {
    switch blob.content {
    case .memory(let frame): return try packWriter.append(frame, of: Int(blob.byteCount), id: blob.id)
    case .staged(let number):
      do throws(ByteStoreError) {
        try rename(number, to: blob.id)
      } catch {
        try? folder.remove(.staged(number))
        throw error
      }
      return BlobLocation(byteCount: blob.byteCount, home: .ownFile)
    }
  }

  private func rename(_ number: StagedNumber, to id: BlobID) throws(ByteStoreError) {
    let directory = try folder.createIfMissing()
    let name = BlobName.blob(id).text
    removals.keep(.blob(id))
    try system { () throws(SystemFailure) in
      try directory.rename(BlobName.staged(number).text, to: name)
    }
    // If this sync fails, the file is kept. A record may already name the file, because it may have replaced
    // a damaged copy. No later content can rely on the file, because the folder accepts no more contents
    // after the failure.
    if folder.platform.keeps(.syncDirectoryOfBlob) { try folder.syncNames() }
  }

  /// Discards a content that is already stored or is no longer needed.
  package func discard(_ blob: FinishedBlob) {
    if case .staged(let number) = blob.content { discardStaged(number) }
  }

  /// Discards an incomplete content. If its file cannot be deleted, the next sweep deletes the file.
  package func discardStaged(_ number: StagedNumber) { try? folder.remove(.staged(number)) }

  // MARK: Reading

  /// Opens a content for reading. If the content was deleted in the meantime, reports it as damaged. The
  /// caller then checks whether a record still names the content.
  package func reader(_ id: BlobID, at place: BlobLocation) throws(ByteStoreError) -> BlobReader {
    guard place.byteCount > 0 || place.home == .ownFile else { return BlobReader(id, place, source: .empty) }
    switch place.home {
    case .ownFile: return BlobReader(id, place, source: .file(try BlobFile(id, place, folder: folder)))
    case .pack(let number, let offset, let storedBytes, let checksum):
      let frame = PackedBody(offset: offset, storedBytes: Int(storedBytes), checksum: checksum)
      return BlobReader(id, place, source: .pack(try packReader.file(number), frame))
    }
  }

  /// Verifies a content against its id. Throws `corrupted` if the content does not match its id, and `closed`
  /// if `isCancelled` returned true.
  package func verify(
    _ id: BlobID, at place: BlobLocation, isCancelled: () -> Bool = { false }
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

  /// Deletes the content's own file. A packed content stays until its pack is deleted.
  package func remove(_ id: BlobID, at place: BlobLocation) throws(ByteStoreError) {
    guard place.home == .ownFile, removals.canRemoveNow(.blob(id)) else { return }
    try folder.remove(.blob(id))
  }

  package func removePack(_ number: UInt64) throws(ByteStoreError) {
    guard number < (try packWriter.closedPackEnd()) else { return }
    packReader.forget(number)
    guard removals.canRemoveNow(.pack(number)) else { return }
    try folder.remove(.pack(number))
  }

  // MARK: Inventory

  /// The files in the folder: contents with files of their own, staged files, and packs.
  package struct Inventory: Sendable {
    package var blobs: [BlobID] = []
    package var staged: [StagedNumber] = []
    /// The packs to which no more contents are added.
    package var packs: [UInt64] = []
  }

  package func inventory() throws(ByteStoreError) -> Inventory {
    // Read `closedPackEnd` before the names. A pack that is started in between then has at least this number
    // and is not listed.
    let end = try packWriter.closedPackEnd()
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

  /// The pack to which contents are currently added, with its size.
  package var currentPack: (number: UInt64, bytes: UInt64)? { packWriter.current }

  /// Closes the current pack, so that later contents go to a new pack.
  package func closePack() { packWriter.closePack() }

  /// Returns the size of a pack, or 0 if the pack does not exist.
  package func bytes(ofPack number: UInt64) throws(ByteStoreError) -> UInt64 {
    guard let file = try folder.open(.pack(number)) else { return 0 }
    defer { file.close() }
    return try system { () throws(SystemFailure) in try file.size() }
  }

  // MARK: Usage

  /// The disk space that contents use.
  package struct Usage: Hashable, Sendable {
    /// The number of files: packs, contents with a file of their own, and incomplete contents.
    package var files = 0
    package var bytes: UInt64 = 0

    package init() {}
  }

  /// Adds up the file sizes that the system reports. Files that are deleted during the call are not counted.
  package func usage() throws(ByteStoreError) -> Usage {
    var usage = Usage()
    for name in try folder.names() {
      guard let file = try folder.openIfFile(name) else { continue }
      defer { file.close() }
      usage.bytes += try system { () throws(SystemFailure) in try file.size() }
      usage.files += 1
    }
    return usage
  }
}

extension [UInt8] {
  /// Calls `body` with a mutable span of the bytes.
  mutating func withMutableBytes<Result, Failure: Error>(
    _ body: (inout MutableRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var span = mutableSpan
    var target = unsafe span.mutableBytes
    return try body(&target)
  }
}

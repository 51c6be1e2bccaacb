// Finding what nothing refers to: files that a crash left, records without objects, packs that are mostly dead, and
// uploads that nobody went on with.

package import ByteStore

/// What a sweep has removed.
package struct ObjectSweep: Sendable, Equatable {
  package var blobs = 0
  package var staged = 0
  package var uploads = 0
  package var packs = 0
  /// Contents that were moved to another pack.
  package var moved = 0
}

extension ObjectStore {
  package enum SweepDepth: Sendable {
    /// What a look at the files' names finds.
    case names
    /// Also every record of a content.
    case everything
  }

  /// Of a pack, so much may be dead before it is emptied.
  private static let deadShareMax = 0.5

  /// May run at any time, beside everything else.
  @discardableResult
  package func sweep(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    try state.sweeping.withLock { _ throws(DocumentStoreError) in try sweepAlone(depth) }
  }

  private func sweepAlone(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    var swept = ObjectSweep()
    let inventory: BlobStore.Inventory
    do throws(ByteStoreError) { inventory = try blobs.inventory() } catch { throw DocumentStoreError(error) }
    try sweepUploads(inventory, &swept)
    for id in inventory.blobs {
      let hasRecord = try place(of: id) != nil
      if !hasRecord, try collect(id) { swept.blobs += 1 }
    }
    if depth == .everything { try sweepRecords(inventory, &swept) }
    return swept
  }

  private func sweepUploads(
    _ inventory: BlobStore.Inventory, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    let uploads = try uploads()
    let oldest = now.microseconds - Self.uploadSecondsMax * 1_000_000
    for upload in uploads where upload.began.microseconds < oldest {
      if try cancel(upload) { swept.uploads += 1 }
    }
    let known = Set(uploads.map(\.number))
    for number in inventory.staged where !known.contains(number) && !isActive(number) {
      // One that has begun since the look is active: from before there is a file of it.
      blobs.discardStaged(number)
      swept.staged += 1
    }
  }

  // MARK: Records and packs

  private func sweepRecords(
    _ inventory: BlobStore.Inventory, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    // A content may be in one of these packs, and its record not there yet: those that come later are in others.
    state.waitForPuts()
    var liveBytes: [UInt64: UInt64] = [:]
    for document in try store.documents(StructuredQuery(.collection(ReservedPath.allBlobs))) {
      guard let id = BlobRecord.id(document.path) else { continue }
      let isNeeded = try !store.documents(Self.references(to: id)).isEmpty
      if !isNeeded, try collect(id) {
        swept.blobs += 1
        continue
      }
      let place = try place(in: document)
      if let pack = place.pack { liveBytes[pack, default: 0] += place.storedBytes }
    }
    for pack in inventory.packs { try sweep(pack, liveBytes[pack] ?? 0, &swept) }
  }

  private func sweep(
    _ pack: UInt64, _ liveBytes: UInt64, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    let share = Double(liveBytes) / Double(max(1, try bytes(ofPack: pack)))
    guard share <= 1 - Self.deadShareMax else { return }
    // One with nothing in use is not even looked at: its making may have been cut off.
    if liveBytes > 0 { guard try empty(pack, &swept) else { return } }
    try syncBuffered()
    do throws(ByteStoreError) { try blobs.removePack(pack) } catch { throw DocumentStoreError(error) }
    swept.packs += 1
  }

  private func bytes(ofPack pack: UInt64) throws(DocumentStoreError) -> UInt64 {
    do throws(ByteStoreError) { return try blobs.bytes(ofPack: pack) } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Moves what is in use to another pack. False if something of it has to stay for now.
  private func empty(_ pack: UInt64, _ swept: inout ObjectSweep) throws(DocumentStoreError) -> Bool {
    var frames: [(id: BlobID, place: BlobPlace)] = []
    do throws(ByteStoreError) {
      try blobs.forEachFrame(ofPack: pack) { id, place throws(ByteStoreError) in frames.append((id, place)) }
    } catch {
      // A damaged one stays where it is: a check names it.
      if error.meansDamage { return false }
      throw DocumentStoreError(error)
    }
    var isEmpty = true
    for frame in frames {
      guard try place(of: frame.id) == frame.place else { continue }
      if try move(frame.id, from: frame.place) { swept.moved += 1 } else { isEmpty = false }
    }
    guard isEmpty else { return false }
    // A record whose frame the scan did not find keeps the pack.
    return try !store.documents(StructuredQuery(.collection(ReservedPath.allBlobs)))
      .contains { BlobRecord.place($0.fields)?.pack == pack }
  }

  /// To the pack that contents are added to now. Nil for a damaged one, which stays where it is: a check names it.
  private func copy(_ id: BlobID, from place: BlobPlace) throws(DocumentStoreError) -> BlobPlace? {
    do throws(ByteStoreError) {
      let writer = blobs.writer()
      let bytes = try blobs.reader(id, at: place).readAll()
      try writer.append(bytes.rawSpan)
      let blob = try writer.finish()
      return blob.id == id ? try blobs.keep(blob) : nil
    } catch {
      if error.meansDamage { return nil }
      throw DocumentStoreError(error)
    }
  }

  private func move(_ id: BlobID, from place: BlobPlace) throws(DocumentStoreError) -> Bool {
    guard state.latches.takeIfFree(id) else { return false }
    defer { giveBack(state.latches.giveBack(id), id) }
    guard let newPlace = try copy(id, from: place) else { return false }
    try change { transaction throws(DocumentStoreError) in
      guard let record = try transaction.document(at: BlobRecord.path(id)),
        BlobRecord.place(record.fields) == place
      else { return nil }
      try transaction.write(BlobRecord.mutation(id, at: newPlace))
      return nil
    }
    return true
  }
}

extension ObjectStore {
  /// What records name: contents in files of their own, staged ones, and packs.
  package func inUse() throws(DocumentStoreError) -> (
    blobs: Set<BlobID>, staged: Set<StagedNumber>, packs: Set<UInt64>
  ) {
    var blobs = Set<BlobID>()
    var packs = Set<UInt64>()
    for document in try store.documents(StructuredQuery(.collection(ReservedPath.allBlobs))) {
      guard let id = BlobRecord.id(document.path) else { continue }
      let place = try place(in: document)
      if let pack = place.pack { packs.insert(pack) } else { blobs.insert(id) }
    }
    return (blobs, Set(try uploads().map(\.number)), packs)
  }
}

// Reclaims space in packs: garbage collection of contents that no object references.
//
//   1. close     the current pack if half of it is garbage
//   2. count     the live bytes of each closed pack
//   3. empty     packs that are at least half garbage, by moving their live contents to another pack
//   4. remove    packs that no record references
//
// PackGarbage.swift decides when this is worthwhile.

import ByteStore
import DocumentStore

extension ObjectStore {
  /// Garbage ratio from which a pack is emptied.
  private static let garbageRatioMax = 0.5
  private static let recordsAtOnce = 1000

  /// A sweep is due daily, because abandoned uploads expire even while a store stays open for weeks.
  private static let nanosecondsBetweenSweeps: UInt64 = 24 * 60 * 60 * 1_000_000_000

  /// True if packs have enough garbage for a sweep, or if the last one was a day ago.
  package var isSweepDue: Bool {
    if state.garbage.withLock({ $0.justifySweep(blobs.options) }) { return true }
    let now = store.clock.monotonicNanoseconds()
    return state.lastSweep.withLock { last in
      let before = last ?? now
      last = before
      return now >= before + Self.nanosecondsBetweenSweeps
    }
  }

  /// A sweep leaves the current pack alone. If half of it is garbage, close it, so that later contents go
  /// to another pack.
  func closeGarbagePack() {
    guard let current = blobs.currentPack else { return }
    let garbage = state.garbage.withLock { $0.bytes(inPack: current.number) }
    if garbage > 0, Self.isMostlyGarbage(current.bytes, live: current.bytes - min(garbage, current.bytes)) {
      blobs.closePack()
    }
  }

  private static func isMostlyGarbage(_ bytes: UInt64, live: UInt64) -> Bool {
    Double(live) <= (1 - garbageRatioMax) * Double(max(1, bytes))
  }

  func sweepPacks(
    _ inventory: BlobStore.Inventory, isThorough: Bool, keepsContents: Bool, swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    // A content may already be in one of these packs although its record is not committed yet. Later puts use
    // other packs.
    state.waitForPuts()
    let liveBytes = try liveBytes(isThorough: isThorough && !keepsContents, &swept)
    var left = blobs.currentPack?.bytes ?? 0
    var garbage: [UInt64] = []
    var mostlyGarbage: [UInt64] = []
    for pack in inventory.packs {
      let (bytes, live) = (try bytes(ofPack: pack), liveBytes[pack] ?? 0)
      left += bytes
      guard !keepsContents, Self.isMostlyGarbage(bytes, live: live) else { continue }
      // A pack without live contents is removed without being read, because its creation may have been
      // interrupted.
      if live == 0 { garbage.append(pack) } else { mostlyGarbage.append(pack) }
    }
    // Remove the packs without live contents first, to make room for the moved contents.
    let removed = try remove(garbage, &swept)
    var emptied: [UInt64] = []
    for pack in mostlyGarbage where try emptyUnlessFull(pack, &swept) { emptied.append(pack) }
    let all = removed + (try remove(emptied, &swept))
    state.garbage.withLock { $0.endSweep(left, removed: all) }
  }

  /// Removes the packs that no record references, and returns the removed packs.
  private func remove(
    _ packs: [UInt64], _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> [UInt64] {
    guard !packs.isEmpty else { return [] }
    // A record may reference a frame that the scan did not find. Such a record keeps its pack.
    let named = try packsInUse()
    let doomed = packs.filter { !named.contains($0) }
    try syncBuffered()
    for pack in doomed {
      try translatingErrors { () throws(ByteStoreError) in try blobs.removePack(pack) }
      swept.packs += 1
    }
    return doomed
  }

  /// The live bytes per pack. If `isThorough` is true, also removes contents that no object references.
  private func liveBytes(
    isThorough: Bool, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> [UInt64: UInt64] {
    var liveBytes: [UInt64: UInt64] = [:]
    var collected = 0
    try forEachContent { id, place throws(DocumentStoreError) in
      if isThorough, try store.documents(Self.references(to: id)).isEmpty, try collect(id) {
        collected += 1
      } else if let pack = place.pack {
        liveBytes[pack, default: 0] += place.bytesInPack
      }
    }
    swept.blobs += collected
    return liveBytes
  }

  private func packsInUse() throws(DocumentStoreError) -> Set<UInt64> {
    var packs = Set<UInt64>()
    try forEachContent { _, place throws(DocumentStoreError) in
      if let pack = place.pack { packs.insert(pack) }
    }
    return packs
  }

  /// Visits all content records in batches, by id, because there may be millions.
  func forEachContent(
    _ body: (BlobID, BlobLocation) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    var last: String?
    while true {
      var query = try StructuredQuery(.collection(ReservedPath.allBlobs)).ordered(by: OrderBy(.documentID))
      if let last { query = try query.starting(.after, [.string(last)]) }
      let documents = try store.documents(query.limited(to: .first(Self.recordsAtOnce)))
      for document in documents {
        if let id = BlobRecord.id(document.path) { try body(id, try place(in: document)) }
      }
      guard documents.count == Self.recordsAtOnce else { return }
      last = documents.last?.path.id
    }
  }

  private func bytes(ofPack pack: UInt64) throws(DocumentStoreError) -> UInt64 {
    try translatingErrors { () throws(ByteStoreError) in try blobs.bytes(ofPack: pack) }
  }

  // MARK: Moving

  /// Empties a pack, or skips it if the disk is full. After a skip, packs without live contents can still be
  /// removed.
  private func emptyUnlessFull(
    _ pack: UInt64, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      return try empty(pack, &swept)
    } catch {
      guard case .full = error else { throw error }
      swept.packsNotEmptied += 1
      return false
    }
  }

  /// Moves the live contents of a pack to another pack. Returns false if some of them must stay for now.
  private func empty(_ pack: UInt64, _ swept: inout ObjectSweep) throws(DocumentStoreError) -> Bool {
    var frames: [(id: BlobID, place: BlobLocation)] = []
    do throws(ByteStoreError) {
      try blobs.forEachFrame(ofPack: pack) { id, place throws(ByteStoreError) in frames.append((id, place)) }
    } catch {
      // A damaged pack is kept; a check reports it.
      if error.isDamage { return false }
      throw DocumentStoreError(error)
    }
    var isEmpty = true
    for frame in frames {
      guard try place(of: frame.id) == frame.place else { continue }
      switch try move(frame.id, from: frame.place) {
      case .moved: swept.moved += 1
      case .gone: break
      case .stays: isEmpty = false
      }
    }
    return isEmpty
  }

  /// Copies a content to the current pack. Returns nil if the content is damaged. A damaged content stays in
  /// its pack, and a check reports it.
  private func copy(_ id: BlobID, from place: BlobLocation) throws(DocumentStoreError) -> BlobLocation? {
    do throws(ByteStoreError) {
      let writer = blobs.writer()
      let bytes = try blobs.reader(id, at: place).readAll()
      try writer.append(bytes.rawSpan)
      let blob = try writer.finish()
      return blob.id == id ? try blobs.keep(blob) : nil
    } catch {
      if error.isDamage { return nil }
      throw DocumentStoreError(error)
    }
  }

  private enum Move {
    case moved
    /// The content is no longer needed, or was already moved elsewhere.
    case gone
    /// The content is damaged.
    case stays
  }

  private func move(_ id: BlobID, from place: BlobLocation) throws(DocumentStoreError) -> Move {
    // Wait for the latch. If the content were skipped because a delete holds its latch, this sweep would keep
    // the pack, even if the delete then removes the last live content of the pack.
    state.latches.take(id)
    defer { collectIfNeeded(state.latches.releaseExclusive(id), id) }
    guard try self.place(of: id) == place else { return .gone }
    guard let newPlace = try copy(id, from: place) else { return .stays }
    try change { transaction throws(DocumentStoreError) in
      guard let record = try transaction.document(at: BlobRecord.path(id)),
        BlobRecord.place(record.fields) == place
      else { return nil }
      try transaction.write(BlobRecord.mutation(id, at: newPlace))
      return nil
    }
    state.garbage.withLock { $0.note(place) }
    return .moved
  }
}

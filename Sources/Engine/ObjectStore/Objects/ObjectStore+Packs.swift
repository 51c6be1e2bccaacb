// Giving back what packs have of contents that no object has any more.
//
//   1. close     the pack that contents are added to, if half of it is dead
//   2. count     what is in use of each pack that gets nothing more, as it would be in another one
//   3. empty     those that would be half as large: what is in use moves to another pack
//   4. remove    those that no record names
//
// DeadBytes.swift tells when that is worth it.

import ByteStore
import DocumentStore

extension ObjectStore {
  /// Of a pack, so much may be dead before it is emptied.
  private static let deadShareMax = 0.5
  private static let recordsAtOnce = 1000

  /// What nobody goes on with becomes too old while a store is open for weeks, too.
  private static let nanosecondsBetweenSweeps: UInt64 = 24 * 60 * 60 * 1_000_000_000

  /// So much has died in packs since the last sweep of them that another one is worth it, or a day has passed.
  package var isSweepDue: Bool {
    if state.dead.withLock({ $0.areWorthASweep(blobs.options) }) { return true }
    let now = store.clock.monotonicNanoseconds()
    return state.lastSweep.withLock { last in
      let before = last ?? now
      last = before
      return now >= before + Self.nanosecondsBetweenSweeps
    }
  }

  /// The pack that contents are added to stays out of a sweep: if it is half dead, they go to another one from now on.
  func closeDeadPack() {
    guard let current = blobs.currentPack else { return }
    let dead = state.dead.withLock { $0.bytes(inPack: current.number) }
    if dead > 0, Self.isMostlyDead(current.bytes, live: current.bytes - min(dead, current.bytes)) {
      blobs.closePack()
    }
  }

  private static func isMostlyDead(_ bytes: UInt64, live: UInt64) -> Bool {
    Double(live) <= (1 - deadShareMax) * Double(max(1, bytes))
  }

  func sweepPacks(
    _ inventory: BlobStore.Inventory, isThorough: Bool, keepsContents: Bool, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    // A content may be in one of these packs, and its record not there yet: those that come later are in others.
    state.waitForPuts()
    let liveBytes = try liveBytes(isThorough: isThorough && !keepsContents, &swept)
    var left = blobs.currentPack?.bytes ?? 0
    var dead: [UInt64] = []
    var mostlyDead: [UInt64] = []
    for pack in inventory.packs {
      let (bytes, live) = (try bytes(ofPack: pack), liveBytes[pack] ?? 0)
      left += bytes
      guard !keepsContents, Self.isMostlyDead(bytes, live: live) else { continue }
      // One with nothing in use is not even looked at: its making may have been cut off.
      if live == 0 { dead.append(pack) } else { mostlyDead.append(pack) }
    }
    // They make room for what moves.
    let removed = try remove(dead, &swept)
    var emptied: [UInt64] = []
    for pack in mostlyDead where try emptyIfThereIsRoom(pack, &swept) { emptied.append(pack) }
    let all = removed + (try remove(emptied, &swept))
    state.dead.withLock { $0.endSweep(left, removed: all) }
  }

  /// Those that no record names. Returns which they were.
  private func remove(
    _ packs: [UInt64], _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> [UInt64] {
    guard !packs.isEmpty else { return [] }
    // A record whose frame the scan did not find keeps its pack.
    let named = try packsInUse()
    let doomed = packs.filter { !named.contains($0) }
    try syncBuffered()
    for pack in doomed {
      do throws(ByteStoreError) { try blobs.removePack(pack) } catch { throw DocumentStoreError(error) }
      swept.packs += 1
    }
    return doomed
  }

  /// What the contents that records name would take of another pack. A thorough look removes those of contents that no object has.
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

  /// The records of contents in the order of their ids, some at a time: there may be millions.
  func forEachContent(
    _ body: (BlobID, BlobPlace) throws(DocumentStoreError) -> Void
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
    do throws(ByteStoreError) { return try blobs.bytes(ofPack: pack) } catch {
      throw DocumentStoreError(error)
    }
  }

  // MARK: Moving

  /// On a full disk a pack stays as it is; those with nothing in use can go all the same.
  private func emptyIfThereIsRoom(
    _ pack: UInt64, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      return try empty(pack, &swept)
    } catch {
      guard case .full = error else { throw error }
      swept.packsWithoutRoom += 1
      return false
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
      switch try move(frame.id, from: frame.place) {
      case .moved: swept.moved += 1
      case .gone: break
      case .stays: isEmpty = false
      }
    }
    return isEmpty
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

  private enum Move {
    case moved
    /// Nobody needs it any more, or it is elsewhere.
    case gone
    /// It is damaged.
    case stays
  }

  private func move(_ id: BlobID, from place: BlobPlace) throws(DocumentStoreError) -> Move {
    // Whoever deletes goes the same way often: what stays for him keeps the pack, which nobody would look at again.
    state.latches.take(id)
    defer { giveBack(state.latches.giveBack(id), id) }
    guard try self.place(of: id) == place else { return .gone }
    guard let newPlace = try copy(id, from: place) else { return .stays }
    try change { transaction throws(DocumentStoreError) in
      guard let record = try transaction.document(at: BlobRecord.path(id)),
        BlobRecord.place(record.fields) == place
      else { return nil }
      try transaction.write(BlobRecord.mutation(id, at: newPlace))
      return nil
    }
    state.dead.withLock { $0.note(place) }
    return .moved
  }
}

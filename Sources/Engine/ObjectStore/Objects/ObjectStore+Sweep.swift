// Finding what nothing refers to: files that a crash left, records without objects, packs that are mostly dead, and
// uploads and arrivals that nobody went on with.
//
// Whoever takes one of these away, as whoever goes on with it, has claimed it first, and then looks again: what was read
// before may have changed since.
//
// While the originals of a salvage are in the directory, no content goes: a record that was set aside with them may name
// it. Once they are removed, the next sweep takes what nothing refers to.

package import ByteStore
package import DocumentStore
import StoreTools

/// What a sweep has removed.
package struct ObjectSweep: Sendable, Equatable {
  package var blobs = 0
  package var staged = 0
  package var uploads = 0
  package var arrivals = 0
  package var packs = 0
  /// Contents that were moved to another pack.
  package var moved = 0
  /// Packs that are mostly dead, and could not be emptied for want of room.
  package var packsWithoutRoom = 0

  package init() {}
}

extension ObjectStore {
  package enum SweepDepth: Sendable {
    /// What a look at the files' names finds.
    case names
    /// Also packs that are mostly dead: the records of all contents are read.
    case packs
    /// Also contents that no object has: each is looked for.
    case everything
  }

  /// May run at any time, beside everything else.
  @discardableResult
  package func sweep(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    try state.sweeping.withLock { _ throws(DocumentStoreError) in
      let now = store.clock.monotonicNanoseconds()
      state.lastSweep.withLock { $0 = now }
      return try sweepAlone(depth)
    }
  }

  private func sweepAlone(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    var swept = ObjectSweep()
    if depth != .names {
      // What dies from here on may be seen too late: it counts for the next sweep.
      state.dead.withLock { $0.beginSweep() }
      closeDeadPack()
    }
    let inventory: BlobStore.Inventory
    do throws(ByteStoreError) { inventory = try blobs.inventory() } catch { throw DocumentStoreError(error) }
    try sweepStaged(inventory, &swept)
    let keepsContents: Bool
    do throws(ByteStoreError) { keepsContents = try store.bytes.hasOriginals() } catch {
      throw DocumentStoreError(error)
    }
    for id in inventory.blobs where !keepsContents {
      let hasRecord = try place(of: id) != nil
      if !hasRecord, try collect(id) { swept.blobs += 1 }
    }
    if depth != .names {
      try sweepPacks(
        inventory, isThorough: depth == .everything, keepsContents: keepsContents, &swept)
    }
    return swept
  }

  // MARK: Uploads and arrivals

  private func sweepStaged(
    _ inventory: BlobStore.Inventory, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    let now = now
    let oldest = now.microseconds - Self.uploadSecondsMax * 1_000_000
    let known = try sweepUploads(now, oldest, &swept).union(try sweepArrivals(inventory, now, oldest, &swept))
    for number in inventory.staged where !known.contains(number) {
      let isRemoved = try state.uploads.claiming(number) { () throws(DocumentStoreError) in
        guard try store.document(at: UploadRecord.path(number)) == nil,
          try store.document(at: ArrivalRecord.path(number)) == nil
        else { return false }
        blobs.discardStaged(number)
        return true
      }
      if isRemoved == true { swept.staged += 1 }
    }
  }

  /// The numbers of all that there were.
  private func sweepUploads(
    _ now: StoredTimestamp, _ oldest: Int64, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Set<StagedNumber> {
    let uploads = try uploads()
    for upload in uploads {
      if upload.began.microseconds < oldest {
        if try cancel(upload) { swept.uploads += 1 }
      } else if upload.began > now {
        try redate(upload, now)
      }
    }
    return Set(uploads.map(\.number))
  }

  /// The wall clock was ahead when the upload began: its seven days begin now.
  private func redate(_ upload: StoredUpload, _ now: StoredTimestamp) throws(DocumentStoreError) {
    _ = try state.uploads.claiming(upload.number) { () throws(DocumentStoreError) in
      guard try store.document(at: UploadRecord.path(upload.number)) != nil else { return }
      var upload = upload
      upload.began = now
      try store.commit([.set(UploadRecord.path(upload.number), UploadRecord.fields(upload))])
    }
  }

  /// The numbers of all that there were.
  private func sweepArrivals(
    _ inventory: BlobStore.Inventory, _ now: StoredTimestamp, _ oldest: Int64, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Set<StagedNumber> {
    let staged = Set(inventory.staged)
    var known: Set<StagedNumber> = []
    for document in try store.documents(StructuredQuery(.collection(ReservedPath.allArrivals))) {
      guard let arrival = ArrivalRecord.arrival(document) else {
        // Nobody can go on with it.
        try note(.delete(document.path))
        swept.arrivals += 1
        continue
      }
      known.insert(arrival.number)
      if arrival.began.microseconds < oldest {
        if try cancel(arrival) { swept.arrivals += 1 }
      } else if !staged.contains(arrival.number) {
        if try forgetUnlessStaged(arrival) { swept.arrivals += 1 }
      } else if arrival.began > now {
        try redate(arrival, now)
      }
    }
    return known
  }

  /// What is staged of it is gone; or it has come since the sweep looked at the files.
  private func forgetUnlessStaged(_ arrival: StoredArrival) throws(DocumentStoreError) -> Bool {
    let isGone = try state.uploads.claiming(arrival.number) { () throws(DocumentStoreError) in
      let path = ArrivalRecord.path(arrival.number)
      let staged: [StagedNumber]
      do throws(ByteStoreError) { staged = try blobs.inventory().staged } catch {
        throw DocumentStoreError(error)
      }
      guard !staged.contains(arrival.number), try store.document(at: path) != nil else { return false }
      try note(.delete(path))
      return true
    }
    return isGone == true
  }

  private func redate(_ arrival: StoredArrival, _ now: StoredTimestamp) throws(DocumentStoreError) {
    _ = try state.uploads.claiming(arrival.number) { () throws(DocumentStoreError) in
      let path = ArrivalRecord.path(arrival.number)
      guard try store.document(at: path) != nil else { return }
      var arrival = arrival
      arrival.began = now
      try note(.set(path, ArrivalRecord.fields(arrival)))
    }
  }
}

extension ObjectStore {
  /// The contents that have a record, and those that some object has, or had or will have with what waits for a remote:
  /// after a sweep they are the same.
  package func contents() throws(DocumentStoreError) -> (recorded: Set<BlobID>, named: Set<BlobID>) {
    var recorded = Set<BlobID>()
    try forEachContent { id, _ throws(DocumentStoreError) in recorded.insert(id) }
    let objects = try store.documents(StructuredQuery(.collectionGroup(ReservedPath.objects)))
    return (recorded, Set(objects.compactMap { StoredObject.blob(in: $0.fields) }))
  }

  /// What records name: contents in files of their own, staged ones, and packs.
  package func inUse() throws(DocumentStoreError) -> (
    blobs: Set<BlobID>, staged: Set<StagedNumber>, packs: Set<UInt64>
  ) {
    var blobs = Set<BlobID>()
    var packs = Set<UInt64>()
    try forEachContent { id, place throws(DocumentStoreError) in
      if let pack = place.pack { packs.insert(pack) } else { blobs.insert(id) }
    }
    return (blobs, Set(try uploads().map(\.number)).union(try arrivals().map(\.number)), packs)
  }
}

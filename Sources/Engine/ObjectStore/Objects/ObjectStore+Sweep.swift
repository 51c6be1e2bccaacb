// Removes unreferenced data.
//
// This includes files that a crash left, records without objects, packs that are mostly garbage, and
// abandoned uploads and arrivals.
//
// Before a thread removes or resumes an upload or arrival, it claims the upload or arrival. Then it checks
// the state of the upload or arrival again, because another thread may have changed that state.
//
// While the original files of a salvage are in the directory, no content is removed, because a quarantined
// record may reference the content. After the originals are removed, the next sweep removes unreferenced
// contents.

package import ByteStore
package import DocumentStore
import StoreTools

/// The counts of removed items.
package struct ObjectSweep: Sendable, Equatable {
  package var blobs = 0
  package var staged = 0
  package var uploads = 0
  package var arrivals = 0
  package var packs = 0
  /// Contents that were moved to another pack.
  package var moved = 0
  /// Packs that are mostly garbage and could not be emptied, because the disk is full.
  package var packsNotEmptied = 0

  package init() {}
}

extension ObjectStore {
  package enum SweepDepth: Sendable {
    /// Checks file names only.
    case names
    /// Also checks for packs that are mostly garbage, by reading all content records.
    case packs
    /// Also looks up the references to each content, to find unreferenced contents.
    case everything
  }

  /// Removes unreferenced data. This call is safe at any time, concurrently with all other operations.
  @discardableResult
  package func sweep(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    try state.sweeping.withLock { _ throws(DocumentStoreError) in
      let now = store.clock.monotonicNanoseconds()
      state.lastSweep.withLock { $0 = now }
      return try runSweep(depth)
    }
  }

  private func runSweep(_ depth: SweepDepth) throws(DocumentStoreError) -> ObjectSweep {
    var swept = ObjectSweep()
    if depth != .names {
      // This sweep may miss garbage that is created from here on, so count that garbage for the next sweep.
      state.garbage.withLock { $0.beginSweep() }
      closeGarbagePack()
    }
    let inventory = try translatingErrors { () throws(ByteStoreError) in try blobs.inventory() }
    try sweepStaged(inventory, &swept)
    let keepsContents = try translatingErrors { () throws(ByteStoreError) in
      try store.bytes.hasQuarantinedOriginals()
    }
    for id in inventory.blobs where !keepsContents {
      let hasRecord = try place(of: id) != nil
      if !hasRecord, try collect(id) { swept.blobs += 1 }
    }
    if depth != .names {
      try sweepPacks(
        inventory, isThorough: depth == .everything, keepsContents: keepsContents, swept: &swept)
    }
    return swept
  }

  // MARK: Uploads and arrivals

  private func sweepStaged(
    _ inventory: BlobStore.Inventory, _ swept: inout ObjectSweep
  ) throws(DocumentStoreError) {
    let now = now
    let oldest = now.microseconds - Self.uploadSecondsMax * 1_000_000
    let known = try sweepUploads(now, oldest, swept: &swept).union(
      try sweepArrivals(inventory, now, oldest: oldest, swept: &swept))
    for number in inventory.staged where !known.contains(number) {
      let isRemoved = try state.uploads.withClaim(number) { () throws(DocumentStoreError) in
        guard try store.document(at: UploadRecord.path(number)) == nil,
          try store.document(at: ArrivalRecord.path(number)) == nil
        else { return false }
        blobs.discardStaged(number)
        return true
      }
      if isRemoved == true { swept.staged += 1 }
    }
  }

  /// Returns the numbers of all uploads.
  private func sweepUploads(
    _ now: StoredTimestamp, _ oldest: Int64, swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Set<StagedNumber> {
    let uploads = try uploads()
    for upload in uploads {
      if upload.began.microseconds < oldest {
        if try cancel(upload) { swept.uploads += 1 }
      } else if upload.began > now {
        try resetStartTime(upload, now)
      }
    }
    return Set(uploads.map(\.number))
  }

  /// Sets the start time of an upload to the present time, because the wall clock was ahead when the upload
  /// began. The upload's seven days start now.
  private func resetStartTime(_ upload: StoredUpload, _ now: StoredTimestamp) throws(DocumentStoreError) {
    _ = try state.uploads.withClaim(upload.number) { () throws(DocumentStoreError) in
      guard try store.document(at: UploadRecord.path(upload.number)) != nil else { return }
      var upload = upload
      upload.began = now
      try store.commit([.set(UploadRecord.path(upload.number), UploadRecord.fields(upload))])
    }
  }

  /// Returns the numbers of all arrivals.
  private func sweepArrivals(
    _ inventory: BlobStore.Inventory, _ now: StoredTimestamp, oldest: Int64, swept: inout ObjectSweep
  ) throws(DocumentStoreError) -> Set<StagedNumber> {
    let staged = Set(inventory.staged)
    var known: Set<StagedNumber> = []
    for document in try store.documents(StructuredQuery(.collection(ReservedPath.allArrivals))) {
      guard let arrival = ArrivalRecord.arrival(document) else {
        // The record is invalid and cannot be resumed.
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
        try resetStartTime(arrival, now)
      }
    }
    return known
  }

  /// Removes the record of an arrival without a staged file, unless the file was created after the sweep
  /// listed the files.
  private func forgetUnlessStaged(_ arrival: StoredArrival) throws(DocumentStoreError) -> Bool {
    let isRemoved = try state.uploads.withClaim(arrival.number) { () throws(DocumentStoreError) in
      let path = ArrivalRecord.path(arrival.number)
      let staged = try translatingErrors { () throws(ByteStoreError) in try blobs.inventory().staged }
      guard !staged.contains(arrival.number), try store.document(at: path) != nil else { return false }
      try note(.delete(path))
      return true
    }
    return isRemoved == true
  }

  private func resetStartTime(_ arrival: StoredArrival, _ now: StoredTimestamp) throws(DocumentStoreError) {
    _ = try state.uploads.withClaim(arrival.number) { () throws(DocumentStoreError) in
      let path = ArrivalRecord.path(arrival.number)
      guard try store.document(at: path) != nil else { return }
      var arrival = arrival
      arrival.began = now
      try note(.set(path, ArrivalRecord.fields(arrival)))
    }
  }
}

extension ObjectStore {
  /// The contents that have a record, and the contents that objects or pending changes reference. After a
  /// sweep, the two sets are equal.
  package func contents() throws(DocumentStoreError) -> (recorded: Set<BlobID>, named: Set<BlobID>) {
    var recorded = Set<BlobID>()
    try forEachContent { id, _ throws(DocumentStoreError) in recorded.insert(id) }
    let objects = try store.documents(StructuredQuery(.collectionGroup(ReservedPath.objects)))
    return (recorded, Set(objects.compactMap { StoredObject.blob(in: $0.fields) }))
  }

  /// All files that records reference: contents in files of their own, staged files, and packs.
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

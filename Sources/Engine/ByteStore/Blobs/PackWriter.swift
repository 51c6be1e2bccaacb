// Packs store many small contents in one file, with group commit (docs/reliability.md, C6).
//
// Invariants:
// - Only the leader, which is the thread that has set `isLeading`, writes to the pack. It holds no lock while
//   it writes.
// - Pages with acknowledged contents are never rewritten, because a group starts on a new page.
// - No content is added to a pack whose sync has failed, or to a pack that was created before the store was
//   last opened. Reads of such a pack may return bytes that are not on the disk (F4, C12).

/// Appends contents to packs. Usable from any thread.
final class PackWriter: Sendable {
  /// The maximum size of a group. In a larger group, all followers would wait for one long write.
  private static let groupBytesMax = 16 << 20

  private let folder: BlobFolder
  private let packBytesMax: UInt64
  private let state = Locked(State())

  private struct State {
    var queue: [PackTicket] = []
    var isLeading = false
    /// The current pack. Only the leader writes to it.
    var pack: OpenPack?
  }

  init(_ folder: BlobFolder, packBytesMax: UInt64) {
    self.folder = folder
    self.packBytesMax = packBytesMax
  }

  /// The pack to which contents are currently added, with its size.
  var current: (number: UInt64, bytes: UInt64)? {
    state.withLock { state in state.pack.map { ($0.number, $0.end) } }
  }

  /// Returns an upper bound of the closed packs. No content is added to packs with smaller numbers, and no
  /// such pack is being created.
  func closedPackEnd() throws(ByteStoreError) -> UInt64 {
    // Lists the folder here, so that the call under the lock does not have to.
    _ = try folder.packNumberEnd()
    return try state.withLock { state throws(ByteStoreError) in
      // The last pack may be the current pack, or a pack that the leader is about to use.
      let end = try folder.packNumberEnd()
      return state.isLeading || state.pack != nil ? end - 1 : end
    }
  }

  /// Closes the current pack, so that later contents go to a new pack.
  func closePack() {
    state.withLock(when: { !$0.isLeading }) { state in
      state.pack?.file.close()
      state.pack = nil
    }
  }

  /// Appends a content. Returns when the content is on stable storage. `frame` contains space for a head,
  /// followed by the stored form of the content.
  func append(
    _ frame: [UInt8], of byteCount: Int, id: BlobID
  ) throws(ByteStoreError) -> BlobLocation {
    let ticket = PackTicket(id: id, byteCount: UInt32(byteCount), frame: frame)
    state.withLock { $0.queue.append(ticket) }
    while true {
      let turn = state.withLock(when: { ticket.result != nil || !$0.isLeading }) { state -> Turn in
        if let result = ticket.result { return .done(result) }
        state.isLeading = true
        return .lead(Self.takeGroup(&state), state.pack)
      }
      switch turn {
      case .done(let result): return try result.get()
      case .lead(let group, let pack): lead(group, pack)
      }
    }
  }

  private enum Turn {
    case done(Result<BlobLocation, ByteStoreError>)
    case lead([PackTicket], OpenPack?)
  }

  private static func takeGroup(_ state: inout State) -> [PackTicket] {
    var bytes = 0
    let group = state.queue.prefix { ticket in
      defer { bytes += ticket.frame.count }
      return bytes < groupBytesMax
    }
    defer { state.queue.removeFirst(group.count) }
    return Array(group)
  }

  private func lead(_ group: [PackTicket], _ pack: OpenPack?) {
    var pack = pack
    let result = Result { () throws(ByteStoreError) in try write(group, &pack) }
    state.withLock { state in
      for (place, ticket) in group.enumerated() { ticket.result = result.map { $0[place] } }
      state.pack = pack
      state.isLeading = false
    }
    state.wakeAll()
  }

  // MARK: Writing

  private func write(
    _ group: [PackTicket], _ pack: inout OpenPack?
  ) throws(ByteStoreError) -> [BlobLocation] {
    if let full = pack, full.end >= packBytesMax {
      full.file.close()
      pack = nil
    }
    if pack == nil { pack = try makePack() }
    guard let current = pack else { return [] }
    var end = current.end
    var places: [BlobLocation] = []
    do throws(SystemFailure) {
      for ticket in group {
        places.append(try write(ticket, at: end, in: current))
        end = (end + UInt64(ticket.frame.count)).roundedUp(toMultipleOf: UInt64(BlobFormat.frameHeadBytes))
      }
    } catch {
      // The next group overwrites these contents. This is safe because none of them was acknowledged.
      throw .system(error)
    }
    do throws(SystemFailure) {
      if folder.platform.keeps(.syncBlob) { try current.file.syncOnce(folder.platform) }
    } catch {
      current.file.close()
      pack = nil
      throw .system(error)
    }
    pack?.end = end.roundedUp(toMultipleOf: UInt64(BlobFormat.pageBytes))
    return places
  }

  private func write(
    _ ticket: PackTicket, at offset: UInt64, in pack: OpenPack
  ) throws(SystemFailure) -> BlobLocation {
    let bodyOffset = offset + UInt64(BlobFormat.frameHeadBytes)
    let storedBytes = UInt32(ticket.frame.count - BlobFormat.frameHeadBytes)
    let checksum = ticket.bodyChecksum(file: pack.fileID, offset: bodyOffset)
    let head = PackFrame(
      id: ticket.id, byteCount: ticket.byteCount, storedBytes: storedBytes, bodyChecksum: checksum
    ).head(file: pack.fileID, offset: offset)
    ticket.frame.replaceSubrange(..<BlobFormat.frameHeadBytes, with: head)
    let frame = ticket.frame
    try pack.file.writeAll(frame.rawSpan, at: offset, platform: folder.platform)
    return BlobLocation(
      byteCount: UInt64(ticket.byteCount),
      home: .pack(
        number: pack.number, offset: bodyOffset, storedBytes: storedBytes,
        checksum: checksum))
  }

  private func makePack() throws(ByteStoreError) -> OpenPack {
    let directory = try folder.createIfMissing()
    let number = try folder.allocatePackNumber()
    let fileID = folder.platform.random.randomID()
    let name = BlobName.pack(number).text
    let file = try system { () throws(SystemFailure) in try directory.createFile(name) }
    do throws(ByteStoreError) {
      try system { () throws(SystemFailure) in
        try file.writeAll(
          PackHead(fileID: fileID, number: number).page.rawSpan, at: 0, platform: folder.platform)
        try file.syncOnce(folder.platform)
      }
      if folder.platform.keeps(.syncDirectoryOfBlob) { try folder.syncNames() }
    } catch {
      file.close()
      try? directory.remove(name)
      throw error
    }
    return OpenPack(number: number, fileID: fileID, file: file, end: UInt64(BlobFormat.pageBytes))
  }
}

private struct OpenPack {
  let number: UInt64
  let fileID: RandomID
  let file: any OpenFile
  /// The offset at which the next group starts.
  var end: UInt64
}

/// A content that waits to be packed. As long as it is in the queue, the lock protects it. Afterwards the
/// leader owns it.
private final class PackTicket {
  let id: BlobID
  let byteCount: UInt32
  var frame: [UInt8]
  var result: Result<BlobLocation, ByteStoreError>?

  init(id: BlobID, byteCount: UInt32, frame: [UInt8]) {
    self.id = id
    self.byteCount = byteCount
    self.frame = frame
  }

  func bodyChecksum(file: RandomID, offset: UInt64) -> UInt32 {
    let frame = frame
    let body = frame.rawSpan.extracting(droppingFirst: BlobFormat.frameHeadBytes)
    return BlobFormat.checksum(body, of: byteCount, file: file, offset: offset)
  }
}

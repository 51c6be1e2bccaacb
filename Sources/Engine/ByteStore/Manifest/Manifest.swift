// The manifest: the list of the store's files. It is replaced as a whole and never changed in place.
//
//   manifest   := magic[8] version:u16 kind:u8 reserved:u8 logs:u32 storeID[16] generation:u64
//                 nextLogNumber:u64 nextFileNumber:u64 segments:u32 checkpoints:u32
//                 log{logs} segment{segments} checkpoint{checkpoints} crc:u32
//   log        := number:u64 fileID[16] capacity:u64 state:u8 reserved[7] length:u64 lastSequence:u64
//   segment    := number:u64 fileID[16] slot:u32 pages:u32 bytes:u64
//   checkpoint := number:u64 fileID[16] bytes:u64
//
// `state` is 0 while the log may grow. Its length and lastSequence are then 0, and its end is found by
// replay. `state` is 1 once its end is recorded. The checksum starts with the store's id. Invariants:
// Logs and segments are in ascending order of number, below the next number, and only the last log may
// be open. No two segments share a slot. A manifest has at most one checkpoint, and always one if it has
// segments.

package struct Manifest: Equatable, VersionedHeader {
  package static let signature = FileSignature(
    magic: Array("DUGOUTMF".utf8), version: 0, kind: FileKind.manifest.rawValue)
  package static let bytesMax = 16 << 20
  private static let headBytes = 64
  private static let logBytes = 56
  private static let segmentBytes = 40
  private static let checkpointBytes = 32

  package var storeID: RandomID
  /// The number of this manifest in the sequence of the store's manifests.
  package var generation: UInt64 = 1
  package var nextLogNumber = LogNumber(1)
  /// The next number for segments and checkpoints.
  package var nextFileNumber = FileNumber(1)
  /// The logs that hold the commits since the checkpoint.
  package var logs: [Log] = []
  package var segments: [Segment] = []
  package var checkpoint: Checkpoint?

  package struct Log: Equatable {
    package var number: LogNumber
    package var fileID: RandomID
    package var capacity: UInt64
    /// The end of the log; nil until it is recorded.
    package var end: (length: UInt64, sequence: SequenceNumber)?

    package static func == (left: Log, right: Log) -> Bool {
      left.number == right.number && left.fileID == right.fileID && left.capacity == right.capacity
        && left.end?.length == right.end?.length && left.end?.sequence == right.end?.sequence
    }
  }

  package struct Segment: Equatable, Sendable {
    package static let slotsMax = 1 << 16
    package static let pagesMax = 1 << 20
    /// The largest valid size. It is larger than any segment, and sums of such sizes do not overflow.
    package static let bytesMax: UInt64 = 1 << 40

    package var number: FileNumber
    package var fileID: RandomID
    /// The index of this segment in the key directory's segment list.
    package var slot: Int
    package var pages: Int
    /// The size of the segment file.
    package var bytes: UInt64

    package init(number: FileNumber, fileID: RandomID, slot: Int, pages: Int, bytes: UInt64) {
      self.number = number
      self.fileID = fileID
      self.slot = slot
      self.pages = pages
      self.bytes = bytes
    }
  }

  package struct Checkpoint: Equatable, Sendable {
    package var number: FileNumber
    package var fileID: RandomID
    /// The size of the checkpoint file.
    package var bytes: UInt64
  }

  package func checkInvariants() {
    precondition(invariantBroken == nil, invariantBroken ?? "")
  }

  private var invariantBroken: String? {
    let logsAscend = zip(logs, logs.dropFirst()).allSatisfy { $0.number < $1.number && $0.end != nil }
    guard logsAscend, logs.allSatisfy({ $0.number < nextLogNumber }) else {
      return "logs in ascending order, all but the last with an end"
    }
    let files = segments.map(\.number) + (checkpoint.map { [$0.number] } ?? [])
    guard zip(segments, segments.dropFirst()).allSatisfy({ $0.number < $1.number }),
      files.allSatisfy({ $0 < nextFileNumber }), Set(files).count == files.count
    else { return "segments in ascending order" }
    let slots = Set(segments.map(\.slot))
    guard slots.count == segments.count, slots.allSatisfy({ $0 < Segment.slotsMax }),
      segments.allSatisfy({ $0.pages <= Segment.pagesMax && $0.bytes <= Segment.bytesMax })
    else { return "segments with a slot each" }
    guard checkpoint != nil || segments.isEmpty else { return "a checkpoint, as there are segments" }
    return nil
  }

  package func encoded() -> [UInt8] {
    checkInvariants()
    var bytes = Self.signature.head(word: UInt32(logs.count), id: storeID)
    bytes.append(littleEndian: generation)
    bytes.append(littleEndian: nextLogNumber.value)
    bytes.append(littleEndian: nextFileNumber.value)
    bytes.append(littleEndian: UInt32(segments.count))
    bytes.append(littleEndian: UInt32(checkpoint == nil ? 0 : 1))
    for log in logs {
      bytes.append(littleEndian: log.number.value)
      bytes.append(log.fileID)
      bytes.append(littleEndian: log.capacity)
      bytes.append(log.end == nil ? 0 : 1)
      bytes.append(zeros: 7)
      bytes.append(littleEndian: log.end?.length ?? 0)
      bytes.append(littleEndian: log.end?.sequence.value ?? 0)
    }
    for segment in segments {
      bytes.append(littleEndian: segment.number.value)
      bytes.append(segment.fileID)
      bytes.append(littleEndian: UInt32(segment.slot))
      bytes.append(littleEndian: UInt32(segment.pages))
      bytes.append(littleEndian: segment.bytes)
    }
    if let checkpoint {
      bytes.append(littleEndian: checkpoint.number.value)
      bytes.append(checkpoint.fileID)
      bytes.append(littleEndian: checkpoint.bytes)
    }
    bytes.appendChecksum(Checksum(file: storeID, offset: 0))
    return bytes
  }

  package init(storeID: RandomID) { self.storeID = storeID }

  package init(decoding bytes: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(bytes)
    try reader.expect(Self.signature, file, expected: "a manifest's first bytes", found: "others")
    guard let head = reader.head(of: Self.signature), let generation = reader.uint64(),
      let nextLogNumber = reader.uint64(), let nextFileNumber = reader.uint64(),
      let segmentCount = reader.uint32(), let checkpointCount = reader.uint32(), checkpointCount <= 1
    else { throw .damage(file, at: 8, expected: "a manifest's header", found: "a shorter or another file") }
    let (count, storeID) = (head.word, head.id)
    let size =
      Self.headBytes + Self.logBytes * Int(count) + Self.segmentBytes * Int(segmentCount)
      + Self.checkpointBytes * Int(checkpointCount) + 4
    guard bytes.byteCount == size else {
      let parts = "\(Self.countText(count, "log")) and \(Self.countText(segmentCount, "segment"))"
      throw .damage(
        file, at: 12, expected: "\(size) bytes, as it lists \(parts)", found: "\(bytes.byteCount) bytes")
    }
    let checksum = bytes.trailingChecksum(Checksum(file: storeID, offset: 0))
    guard checksum.isCorrect else {
      throw .damage(file, at: UInt64(size - 4), expected: "checksum \(checksum.computed)", found: "another")
    }
    self.storeID = storeID
    self.generation = generation
    self.nextLogNumber = LogNumber(nextLogNumber)
    self.nextFileNumber = FileNumber(nextFileNumber)
    for _ in 0..<count {
      guard let log = Log(&reader) else {
        throw .damage(file, at: UInt64(reader.offset), expected: "an entry of a log", found: "something else")
      }
      logs.append(log)
    }
    for _ in 0..<segmentCount {
      guard let segment = Segment(&reader) else {
        throw .damage(
          file, at: UInt64(reader.offset), expected: "an entry of a segment", found: "something else")
      }
      segments.append(segment)
    }
    if checkpointCount == 1 { checkpoint = Checkpoint(&reader) }
    // The checksum matched, so this is not accidental corruption. But a crafted file must not trigger a
    // precondition either.
    if let invariantBroken {
      throw .damage(file, at: UInt64(Self.headBytes), expected: invariantBroken, found: "something else")
    }
  }

  private static func countText(_ count: UInt32, _ name: String) -> String {
    "\(count) \(name)\(count == 1 ? "" : "s")"
  }
}

extension Manifest.Log {
  fileprivate init?(_ reader: inout ByteReader) {
    guard let number = reader.uint64(), let fileID = reader.randomID(),
      let capacity = reader.uint64(), let state = reader.uint8(), reader.skip(7),
      let length = reader.uint64(), let sequence = reader.uint64(), state <= 1
    else { return nil }
    self.init(
      number: LogNumber(number), fileID: fileID, capacity: capacity,
      end: state == 0 ? nil : (length, SequenceNumber(sequence)))
  }
}

extension Manifest.Segment {
  fileprivate init?(_ reader: inout ByteReader) {
    guard let number = reader.uint64(), let fileID = reader.randomID(), let slot = reader.uint32(),
      let pages = reader.uint32(), let bytes = reader.uint64()
    else { return nil }
    self.init(
      number: FileNumber(number), fileID: fileID, slot: Int(slot), pages: Int(pages), bytes: bytes)
  }
}

extension Manifest.Checkpoint {
  fileprivate init?(_ reader: inout ByteReader) {
    guard let number = reader.uint64(), let fileID = reader.randomID(), let bytes = reader.uint64() else {
      return nil
    }
    self.init(number: FileNumber(number), fileID: fileID, bytes: bytes)
  }
}

extension Manifest {
  /// The names of all files that the manifest lists.
  package var fileNames: Set<String> {
    Set(
      logs.map { StoreFile.log($0.number) } + segments.map { StoreFile.segment($0.number) }
        + (checkpoint.map { [StoreFile.checkpoint($0.number)] } ?? []))
  }

  /// Whether `name` is the name of the manifest itself or of a file that it lists.
  package func names(_ name: String) -> Bool { name == StoreFile.manifest || fileNames.contains(name) }

  /// Whether an earlier manifest may have listed a file that this one does not list.
  package func mayHaveNamed(_ name: String) -> Bool {
    if let number = StoreFile.logNumber(of: name) { return number < nextLogNumber }
    if let number = StoreFile.segmentNumber(of: name) ?? StoreFile.checkpointNumber(of: name) {
      return number < nextFileNumber
    }
    return name != StoreFile.newManifest && name != StoreFile.recycledLog
  }

  /// The manifest that follows this one. Generations are only compared for equality, so they may wrap around.
  package func successor() -> Manifest {
    var next = self
    next.generation &+= 1
    return next
  }

  /// Records the end of the last log, unless it is already recorded.
  package mutating func sealLastLog(at end: LogHeader.LogEnd) {
    guard let last = logs.last, last.end == nil else { return }
    precondition(last.fileID == end.fileID, "the end of another log")
    logs[logs.count - 1].end = (end.length, end.sequence)
  }

  /// Replaces the manifest on disk with this one (C5). On return, this manifest is durable.
  package func replace(in directory: any OpenDirectory, _ platform: Platform) throws(WriteFailure) {
    do throws(SystemFailure) {
      try? directory.remove(StoreFile.newManifest)
      let file = try directory.createFile(StoreFile.newManifest)
      defer { file.close() }
      try file.writeAll(encoded().rawSpan, at: 0, platform: platform)
      if platform.keeps(.syncBeforeRenaming) { try file.syncOnce(platform) }
    } catch {
      throw error.isSync ? .unknown(error) : .refused(error)
    }
    do throws(SystemFailure) {
      try directory.rename(StoreFile.newManifest, to: StoreFile.manifest)
      if platform.keeps(.syncDirectoryAfterRenaming) { try directory.sync() }
    } catch {
      throw .unknown(error)
    }
  }
}

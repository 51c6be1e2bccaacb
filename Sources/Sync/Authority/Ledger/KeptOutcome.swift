// The outcome of an accepted batch, which is kept until the client has received it:
//
//   outcome := form:u8=1 batch:i64 time:i64 digest:16 count:varint result{count}      little-endian
//   result  := flags:u8 version:i64? before:i64? values?
//   flags   := 1 version | 2 before | 4 values              which of the three parts follow
//   values  := count:varint value{count}
//   value   := 0:u8 | 1:u8 size:varint byte{size}           null, or a record with the value in the field "v"
//
// `version` is the update time of the document after the write, if it is not the time of the commit.
// `before` is its update time before the batch, if it existed. `digest` is the one of the batch's mutations.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct KeptOutcome: Equatable, Sendable {
  private static let form: UInt8 = 1
  static let digestBytes = 16
  private static let (hasVersion, hasBefore, hasValues): (UInt8, UInt8, UInt8) = (1, 2, 4)

  let batch: BatchID
  /// The time of the commit.
  let time: SnapshotVersion
  let digest: [UInt8]
  let results: [WriteResult]

  /// The outcome of a commit of the batch's mutations.
  init(_ batch: BatchID, _ mutations: [Mutation], digest: [UInt8], outcome: CommitOutcome) {
    self.batch = batch
    time = SnapshotVersion(outcome.time)
    self.digest = digest
    let time = time
    results = zip(mutations, outcome.writes).map { mutation, write in
      let before = write.previousUpdateTime.map { SnapshotVersion($0) }
      // A deleted document counts as changed at the commit, or just after a version that is ahead of it.
      let version = write.updateTime.map { SnapshotVersion($0) } ?? max(time, before?.successor ?? time)
      return WriteResult(
        version: version, transformResults: write.transformResults,
        versionBefore: before ?? SnapshotVersion.none)
    }
  }

  private init(_ batch: BatchID, at time: SnapshotVersion, digest: [UInt8], results: [WriteResult]) {
    self.batch = batch
    self.time = time
    self.digest = digest
    self.results = results
  }

  /// Sixteen bytes that differ for different mutations.
  static func digest(of mutations: [Mutation]) -> [UInt8] {
    Array(ContentDigest.sha256(of: BatchCodec.encode(mutations).rawSpan).prefix(digestBytes))
  }

  // MARK: Encoding

  var encoded: [UInt8] {
    var bytes: [UInt8] = [Self.form]
    bytes.append(littleEndian: batch.value)
    bytes.append(littleEndian: time.microseconds)
    bytes += digest
    bytes.append(varint: UInt64(results.count))
    for result in results { append(result, to: &bytes) }
    return bytes
  }

  private func append(_ result: WriteResult, to bytes: inout [UInt8]) {
    let before = result.versionBefore ?? .none
    var flags: UInt8 = 0
    if result.version != time { flags |= Self.hasVersion }
    if before != .none { flags |= Self.hasBefore }
    if !result.transformResults.isEmpty { flags |= Self.hasValues }
    bytes.append(flags)
    if result.version != time { bytes.append(littleEndian: result.version.microseconds) }
    if before != .none { bytes.append(littleEndian: before.microseconds) }
    guard !result.transformResults.isEmpty else { return }
    bytes.append(varint: UInt64(result.transformResults.count))
    for value in result.transformResults {
      guard value != .null else {
        bytes.append(0)
        continue
      }
      bytes.append(1)
      BatchCodec.append(StoredMap([("v", value)]), to: &bytes)
    }
  }

  // MARK: Decoding

  /// Returns nil if the bytes are not a valid outcome.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint8() == Self.form, let batch = reader.uint64(), let time = reader.uint64(),
      let digest = reader.array(Self.digestBytes), let count = reader.varint(),
      count <= UInt64(reader.bytesLeft)
    else { return nil }
    let version = SnapshotVersion(microseconds: Int64(bitPattern: time))
    var results: [WriteResult] = []
    for _ in 0..<count {
      guard let result = Self.result(&reader, at: version) else { return nil }
      results.append(result)
    }
    guard reader.bytesLeft == 0 else { return nil }
    self.init(BatchID(Int64(bitPattern: batch)), at: version, digest: digest, results: results)
  }

  private static func result(_ reader: inout ByteReader, at time: SnapshotVersion) -> WriteResult? {
    guard let flags = reader.uint8() else { return nil }
    var result = WriteResult(version: time, versionBefore: SnapshotVersion.none)
    if flags & hasVersion != 0 {
      guard let version = reader.uint64() else { return nil }
      result.version = SnapshotVersion(microseconds: Int64(bitPattern: version))
    }
    if flags & hasBefore != 0 {
      guard let before = reader.uint64() else { return nil }
      result.versionBefore = SnapshotVersion(microseconds: Int64(bitPattern: before))
    }
    guard flags & hasValues != 0 else { return result }
    guard let count = reader.varint(), count <= UInt64(reader.bytesLeft) else { return nil }
    for _ in 0..<count {
      switch reader.uint8() {
      case 0: result.transformResults.append(.null)
      case 1:
        guard let value = BatchCodec.fields(&reader)?["v"] else { return nil }
        result.transformResults.append(value)
      default: return nil
      }
    }
    return result
  }
}

extension SnapshotVersion {
  /// The next microsecond; nil if it is no time of a document.
  fileprivate var successor: SnapshotVersion? {
    StoredTimestamp(microseconds: microseconds &+ 1).map { SnapshotVersion($0) }
  }
}

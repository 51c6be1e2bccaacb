// The document of one run, written in the commit of each batch of the run (docs/format.md):
//
//   `__queues__/<user>:<queue>/__runs__/<run>`
//     t: the time at which the run was registered
//     d: the day on which the run was last seen, counted from 1970
//     a: the accepted batches as ranges: first, last, first, last
//     f: all batches below this number are answered; absent if there are none
//     k: the outcomes that are kept (KeptOutcome.swift), oldest first
//     g: the digests of the batches whose outcomes were dropped last, oldest first; absent if there are none:
//
//   digests := (batch:i64 digest:16){count}                                                  little-endian

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct RunRecord: Equatable, Sendable {
  /// A client has ten batches without an answer at most.
  private static let keptMax = 32
  /// The outcomes of larger batches are dropped at once, and the oldest ones if all of them are larger.
  private static let keptBytesMax = 512 << 10
  /// More than the batches that a client may send again: those without an answer, and those whose answers a
  /// power loss has taken.
  static let digestsMax = 2 * LocalStore.bufferedAnswersMax

  /// Nil until the commit that registers the run has a time.
  var registered: SnapshotVersion?
  var lastDay: Int64
  private(set) var accepted: AcceptedBatches
  /// The encoded outcomes, each with the number and the digest of its batch.
  private var kept: [(batch: BatchID, digest: [UInt8], bytes: [UInt8])] = []
  /// The digests of batches whose outcomes were dropped.
  private var dropped: [(batch: BatchID, digest: [UInt8])] = []

  init(registered: SnapshotVersion? = nil, lastDay: Int64, accepted: AcceptedBatches = AcceptedBatches()) {
    self.registered = registered
    self.lastDay = lastDay
    self.accepted = accepted
  }

  /// Returns the kept outcome of a batch.
  func outcome(of batch: BatchID) -> KeptOutcome? {
    kept.first { $0.batch == batch }.flatMap { KeptOutcome($0.bytes) }
  }

  /// Returns the digest of an accepted batch, as long as it is known.
  func digest(of batch: BatchID) -> [UInt8]? {
    kept.first { $0.batch == batch }?.digest ?? dropped.last { $0.batch == batch }?.digest
  }

  /// Adds an accepted batch, and drops the outcomes that the client has received.
  mutating func take(_ outcome: KeptOutcome, firstOpen: BatchID) {
    accepted.insert(outcome.batch)
    accepted.pass(firstOpen)
    if registered == nil { registered = outcome.time }
    for old in kept where old.batch < firstOpen { drop(old.batch, old.digest) }
    kept.removeAll { $0.batch < firstOpen || $0.batch == outcome.batch }
    let bytes = outcome.encoded
    guard bytes.count <= Self.keptBytesMax else { return drop(outcome.batch, outcome.digest) }
    kept.append((outcome.batch, outcome.digest, bytes))
    var total = kept.reduce(0) { $0 + $1.bytes.count }
    while total > Self.keptBytesMax || kept.count > Self.keptMax {
      let oldest = kept.removeFirst()
      total -= oldest.bytes.count
      drop(oldest.batch, oldest.digest)
    }
  }

  private mutating func drop(_ batch: BatchID, _ digest: [UInt8]) {
    dropped.append((batch, digest))
    if dropped.count > Self.digestsMax { dropped.removeFirst() }
  }

  // MARK: The document

  /// Returns nil for a document without ranges, because its run would accept each batch again. A damaged
  /// outcome counts as dropped.
  init?(_ fields: StoredMap) {
    guard case .array(let ends)? = fields["a"], case .integer(let day)? = fields["d"] else { return nil }
    let floor: Int64 = if case .integer(let floor)? = fields["f"] { floor } else { .min }
    self.init(
      lastDay: day, accepted: AcceptedBatches(ends: ends.compactMap { Self.integer($0) }, floor: floor))
    if case .timestamp(let time)? = fields["t"] { registered = SnapshotVersion(time) }
    if case .bytes(let bytes)? = fields["g"] { dropped = Self.digests(bytes) }
    guard case .array(let outcomes)? = fields["k"] else { return }
    for case .bytes(let bytes) in outcomes {
      guard let outcome = KeptOutcome(bytes) else { continue }
      kept.append((outcome.batch, outcome.digest, bytes))
    }
  }

  /// Reads digests up to the first that is incomplete.
  private static func digests(_ bytes: [UInt8]) -> [(batch: BatchID, digest: [UInt8])] {
    var reader = ByteReader(bytes.rawSpan)
    var digests: [(batch: BatchID, digest: [UInt8])] = []
    while let batch = reader.uint64(), let digest = reader.array(KeptOutcome.digestBytes) {
      digests.append((BatchID(Int64(bitPattern: batch)), digest))
    }
    return Array(digests.suffix(digestsMax))
  }

  private static func integer(_ value: StoredValue) -> Int64? {
    if case .integer(let number) = value { number } else { nil }
  }

  var fields: StoredMap {
    var fields = StoredMap([
      ("a", .array(accepted.ends.map { .integer($0) })), ("d", .integer(lastDay)),
      ("k", .array(kept.map { .bytes($0.bytes) })),
    ])
    if accepted.floor != .min { fields["f"] = .integer(accepted.floor) }
    if !dropped.isEmpty {
      var bytes: [UInt8] = []
      for (batch, digest) in dropped {
        bytes.append(littleEndian: batch.value)
        bytes += digest
      }
      fields["g"] = .bytes(bytes)
    }
    if let registered { fields["t"] = .timestamp(registered.stored) }
    return fields
  }

  static func == (left: Self, right: Self) -> Bool {
    left.registered == right.registered && left.lastDay == right.lastDay && left.accepted == right.accepted
      && left.kept.elementsEqual(right.kept) { $0.batch == $1.batch && $0.bytes == $1.bytes }
      && left.dropped.elementsEqual(right.dropped) { $0.batch == $1.batch && $0.digest == $1.digest }
  }
}

// The runs of a queue whose batches are all answered. A run needs a few bytes, which are kept because a copy
// of the client may continue the run:
//
//   `__queues__/<user>:<queue>`
//     d: the first day on which one of the runs was last seen
//     r: the runs, oldest first
//
//   run := form:u8=1 run:u64 registered:i64 day:i64 floor:i64 count:varint (first:i64 last:i64){count}
//
// Integers are little-endian.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct FinishedRuns: Sendable {
  private static let form: UInt8 = 1
  /// With more runs than this, the oldest is forgotten.
  static let runsMax = 64
  /// Ranges of one run. Most runs have one.
  private static let rangesMax = 8

  struct Run: Sendable, Equatable {
    let run: RunID
    let record: RunRecord
  }

  private(set) var runs: [Run] = []

  var isEmpty: Bool { runs.isEmpty }

  func record(of run: RunID) -> RunRecord? { runs.last { $0.run == run }?.record }

  /// Adds a run, without the outcomes of its batches.
  mutating func add(_ run: RunID, _ record: RunRecord) {
    var accepted = record.accepted
    accepted.keep(Self.rangesMax)
    runs.removeAll { $0.run == run }
    runs.append(
      Run(
        run: run,
        record: RunRecord(registered: record.registered, lastDay: record.lastDay, accepted: accepted)))
    if runs.count > Self.runsMax { runs.removeFirst() }
  }

  mutating func removeRuns(notSeenSince day: Int64) { runs.removeAll { $0.record.lastDay < day } }

  // MARK: The document

  init() {}

  /// Returns nil for a damaged document.
  init?(_ fields: StoredMap) {
    guard case .array(let values)? = fields["r"] else { return nil }
    for value in values {
      guard case .bytes(let bytes) = value, let run = Self.run(bytes) else { return nil }
      runs.append(run)
    }
  }

  private static func run(_ bytes: [UInt8]) -> Run? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint8() == form, let run = reader.uint64(), let registered = reader.uint64(),
      let day = reader.uint64(), let floor = reader.uint64(), let count = reader.varint(),
      count <= UInt64(reader.bytesLeft)
    else { return nil }
    var ends: [Int64] = []
    for _ in 0..<count * 2 {
      guard let end = reader.uint64() else { return nil }
      ends.append(Int64(bitPattern: end))
    }
    guard reader.bytesLeft == 0 else { return nil }
    let record = RunRecord(
      registered: SnapshotVersion(microseconds: Int64(bitPattern: registered)),
      lastDay: Int64(bitPattern: day),
      accepted: AcceptedBatches(ends: ends, floor: Int64(bitPattern: floor)))
    return Run(run: RunID(run), record: record)
  }

  var fields: StoredMap {
    StoredMap([
      ("d", .integer(runs.map(\.record.lastDay).min() ?? 0)),
      ("r", .array(runs.map { .bytes(Self.bytes($0)) })),
    ])
  }

  private static func bytes(_ run: Run) -> [UInt8] {
    var bytes: [UInt8] = [form]
    bytes.append(littleEndian: run.run.value)
    bytes.append(littleEndian: (run.record.registered ?? .none).microseconds)
    bytes.append(littleEndian: run.record.lastDay)
    bytes.append(littleEndian: run.record.accepted.floor)
    bytes.append(varint: UInt64(run.record.accepted.ranges.count))
    for end in run.record.accepted.ends { bytes.append(littleEndian: end) }
    return bytes
  }
}

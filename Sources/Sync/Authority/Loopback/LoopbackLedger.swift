// The authority's record of the batches that it has accepted, stored beside its documents:
//
//   - `__writers__/<queue>:<run>` describes one run of a queue:
//     - a: the accepted batch numbers as ranges: first, last, first, last
//     - k: the accepted batches whose outcome is kept
//     - f: all batches below this number are answered
//   - `__writes__/<queue>:<run>:<batch>` is the outcome of a batch:
//     - r: the results of numeric transforms, one list for each mutation
//     - v: the update times of documents that the batch left unchanged, 0 for other documents
//     - b: the update times of all documents before the batch: 0 if the document was absent, negative if the
//       batch deleted it. Older records have o instead, with 0 for deleted or unchanged documents, or have
//       neither b nor o
//
// The record is part of the batch's own commit, so the commit's time is the batch's time. `<queue>` is
// escaped as in CacheKeys. The run is part of a batch's identity, because copies of a client continue from
// the same number. The outcome of a batch can be dropped once the client has received it, but the fact that
// the batch was accepted stays recorded.

internal import DocumentStore
internal import OfflineSync

enum LoopbackLedger {
  static func writer(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writers__", name(id)])
  }

  static func write(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writes__", "\(name(id)):\(id.batch)"])
  }

  private static func name(_ id: WriteID) -> String {
    "\(EscapedName.encode(id.queue)):\(id.run)"
  }

  static func isLedgerPath(_ path: DocumentPath) -> Bool {
    path.segments[0] == "__writers__" || path.segments[0] == "__writes__"
  }

  /// Returns the stored answer to a batch.
  static func results(_ document: StoredDocument, _ mutations: [Mutation]) -> [WriteResult] {
    let time = document.createTime
    var lists: [[StoredValue]] = []
    if case .array(let values)? = document.fields["r"] {
      lists = values.map { value in
        guard case .map(let map) = value, case .array(let list)? = map["v"] else { return [] }
        return list
      }
    }
    let versions = integers(document.fields["v"])
    let oldVersions = integers(document.fields["o"])
    let previousVersions = integers(document.fields["b"])
    return mutations.enumerated().map { index, mutation in
      let values = index < lists.count ? lists[index] : []
      let results = mutation.transforms.enumerated().map { place, transform in
        transform.operation == .serverTimestamp
          ? .timestamp(time) : place < values.count ? values[place] : StoredValue.null
      }
      var version = SnapshotVersion(time)
      let before = index < previousVersions.count ? previousVersions[index] : nil
      let old = before.map { max(0, $0) } ?? (index < oldVersions.count ? oldVersions[index] : 0)
      // A document that was left unchanged keeps its update time, and no listener is notified.
      if index < versions.count, versions[index] != 0 {
        version = SnapshotVersion(microseconds: versions[index])
      } else if let next = StoredTimestamp(microseconds: old &+ 1) {
        // The store assigns this time if the previous version is ahead of the clock.
        version = max(version, SnapshotVersion(next))
      }
      return WriteResult(
        version: version, transformResults: results,
        versionBefore: before.map { SnapshotVersion(microseconds: $0 < 0 ? 0 &- $0 : $0) })
    }
  }

  static func fields(_ results: [[StoredValue]], _ versions: [Int64], previousVersions: [Int64]) -> StoredMap
  {
    StoredMap([
      ("b", .array(previousVersions.map { .integer($0) })),
      ("r", .array(results.map { .map(StoredMap([("v", .array($0))])) })),
      ("v", .array(versions.map { .integer($0) })),
    ])
  }

  /// Returns the numbers of a list, with 0 for elements of other types.
  private static func integers(_ value: StoredValue?) -> [Int64] {
    guard case .array(let values)? = value else { return [] }
    return values.map { if case .integer(let number) = $0 { number } else { 0 } }
  }
}

/// The accepted batches of one run of a queue.
struct LoopbackWriter {
  /// Rejected and cancelled batches leave gaps between ranges. If there are more ranges than this, the oldest
  /// range is dropped, and a batch of that range that is sent again is refused.
  private static let rangesMax = 1000

  private var taken: [ClosedRange<Int64>] = []
  /// The batches whose outcome is kept.
  private(set) var kept: [Int64] = []
  /// All batches below this number are answered. Those that are in no range were not accepted.
  private(set) var floor: Int64 = 0

  init(_ document: StoredDocument?) {
    guard let document else { return }
    let ends = Self.integers(document.fields["a"])
    for place in stride(from: 0, to: ends.count - 1, by: 2) where ends[place] <= ends[place + 1] {
      taken.append(ends[place]...ends[place + 1])
    }
    kept = Self.integers(document.fields["k"])
    if case .integer(let number)? = document.fields["f"] { floor = number }
  }

  private static func integers(_ value: StoredValue?) -> [Int64] {
    guard case .array(let values)? = value else { return [] }
    return values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
  }

  func hasAccepted(_ batch: BatchID) -> Bool { taken.contains { $0.contains(batch.value) } }

  /// Records a batch as accepted. Returns the batches whose outcome can be dropped.
  mutating func take(_ batch: BatchID, firstOpen: BatchID) -> [BatchID] {
    let number = batch.value
    if let place = taken.firstIndex(where: { $0.upperBound == number - 1 }) {
      taken[place] = taken[place].lowerBound...number
    } else {
      taken.append(number...number)
      if taken.count > Self.rangesMax { taken.removeFirst() }
    }
    let droppable = kept.filter { $0 < firstOpen.value }
    kept = kept.filter { $0 >= firstOpen.value } + [number]
    floor = max(floor, firstOpen.value)
    return droppable.map { BatchID($0) }
  }

  var fields: StoredMap {
    let ends = taken.flatMap { [StoredValue.integer($0.lowerBound), .integer($0.upperBound)] }
    return StoredMap([
      ("a", .array(ends)), ("f", .integer(floor)), ("k", .array(kept.map { .integer($0) })),
    ])
  }
}

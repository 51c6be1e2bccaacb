// Reads the ledger of earlier releases, so that a batch that they accepted is not applied again. Nothing
// writes this form any more, and it is removed when it expires:
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
// The time at which an outcome was created is the time of the batch.

internal import DocumentStore
internal import OfflineSync

enum EarlierLedger {
  static let writers = CollectionPath(unchecked: ["__writers__"])
  static let writes = CollectionPath(unchecked: ["__writes__"])

  /// Returns what the earlier form says about a run; nil if it does not have the run. The name of a queue
  /// ends with its user. A run of another user is not found.
  static func record(of run: RunName, in backend: any DocumentBackend) throws(RemoteError) -> RunRecord? {
    guard run.queue.hasSuffix("/\(run.user.map { "=" + EscapedName.encode($0) } ?? "-")"),
      let document = try backend.document(at: writer(run))
    else { return nil }
    var accepted = AcceptedBatches(ends: integers(document.fields["a"]), floor: .min)
    if case .integer(let floor)? = document.fields["f"] { accepted.pass(BatchID(floor)) }
    return RunRecord(lastDay: Day.of(document.updateTime.microseconds), accepted: accepted)
  }

  /// Returns the kept outcome of a batch.
  static func outcome(
    of batch: BatchID, _ run: RunName, mutations: [Mutation], in backend: any DocumentBackend
  ) throws(RemoteError) -> (version: SnapshotVersion, results: [WriteResult])? {
    guard let document = try backend.document(at: write(batch, of: run)) else { return nil }
    return (SnapshotVersion(document.createTime), results(document, mutations))
  }

  static func writer(_ run: RunName) -> DocumentPath {
    DocumentPath(unchecked: writers.segments + [name(run)])
  }

  static func write(_ batch: BatchID, of run: RunName) -> DocumentPath {
    DocumentPath(unchecked: writes.segments + ["\(name(run)):\(batch)"])
  }

  private static func name(_ run: RunName) -> String { "\(EscapedName.encode(run.queue)):\(run.run)" }

  // MARK: Outcomes

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
        // The store assigned this time if the previous version was ahead of the clock.
        version = max(version, SnapshotVersion(next))
      }
      return WriteResult(
        version: version, transformResults: results,
        versionBefore: before.map { SnapshotVersion(microseconds: $0 < 0 ? 0 &- $0 : $0) })
    }
  }

  /// Returns the numbers of a list, with 0 for elements of other types.
  private static func integers(_ value: StoredValue?) -> [Int64] {
    guard case .array(let values)? = value else { return [] }
    return values.map { if case .integer(let number) = $0 { number } else { 0 } }
  }
}

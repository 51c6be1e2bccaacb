// Which batches an authority has taken already, kept beside its documents:
//
//   __writers__/<queue>:<run>         a: the numbers of the batches that were taken, as ranges: first, last, first, last;
//                                     k: of these, those whose outcome is kept; f: those before it were answered
//   __writes__/<queue>:<run>:<batch>  r: what transforms of numbers gave, one list for each mutation;
//                                     v: the times of documents that it left as they were, 0 for the others;
//                                     b: the times that all of them had before: 0 for what was not there, negative for
//                                     what is gone since. Early ones have o, with 0 for what is gone or was left as it
//                                     was, or neither
//
// It is written in the commit of the batch itself, so that its time is the commit's. `<queue>` is escaped as in
// CacheKeys. A batch is known by its number and the run of the client that made it: copies of a client count on from
// the same number. What a client has been answered can be forgotten, but never that it was taken.

internal import DocumentStore

enum LoopbackLedger {
  static func writer(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writers__", name(id)])
  }

  static func write(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writes__", "\(name(id)):\(id.batch)"])
  }

  private static func name(_ id: WriteID) -> String {
    "\(CacheKeys.escaped(DocumentPath(unchecked: [id.queue]))):\(id.run)"
  }

  static func isOfLedger(_ path: DocumentPath) -> Bool {
    path.segments[0] == "__writers__" || path.segments[0] == "__writes__"
  }

  /// What was answered to a batch.
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
    let olds = integers(document.fields["o"])
    let befores = integers(document.fields["b"])
    return mutations.enumerated().map { index, mutation in
      let values = index < lists.count ? lists[index] : []
      let results = mutation.transforms.enumerated().map { place, transform in
        transform.operation == .serverTimestamp
          ? .timestamp(time) : place < values.count ? values[place] : StoredValue.null
      }
      var version = SnapshotVersion(time)
      let before = index < befores.count ? befores[index] : nil
      let old = before.map { max(0, $0) } ?? (index < olds.count ? olds[index] : 0)
      // Nobody is told of a document that was left as it was: it has the time that it had.
      if index < versions.count, versions[index] != 0 {
        version = SnapshotVersion(microseconds: versions[index])
      } else if let next = StoredTimestamp(microseconds: old &+ 1) {
        // As the store dates what replaces a document whose time is ahead of the clock.
        version = max(version, SnapshotVersion(next))
      }
      return WriteResult(
        version: version, transformResults: results,
        versionBefore: before.map { SnapshotVersion(microseconds: $0 < 0 ? 0 &- $0 : $0) })
    }
  }

  static func fields(_ results: [[StoredValue]], _ versions: [Int64], befores: [Int64]) -> StoredMap {
    StoredMap([
      ("b", .array(befores.map { .integer($0) })),
      ("r", .array(results.map { .map(StoredMap([("v", .array($0))])) })),
      ("v", .array(versions.map { .integer($0) })),
    ])
  }

  /// The numbers of a list; 0 in the place of anything else.
  private static func integers(_ value: StoredValue?) -> [Int64] {
    guard case .array(let values)? = value else { return [] }
    return values.map { if case .integer(let number) = $0 { number } else { 0 } }
  }
}

/// What is known of the batches of one run of a queue.
struct LoopbackWriter {
  /// Rejections and cancelled writes leave gaps. So many are remembered; what was taken long before would be refused.
  private static let rangesMax = 1000

  private var taken: [ClosedRange<Int64>] = []
  /// Batches whose outcome is kept.
  private(set) var kept: [Int64] = []
  /// Those before it were answered, and were not taken if they are in no range.
  private(set) var floor: Int64 = 0

  init(_ document: StoredDocument?) {
    guard let document else { return }
    let ends = Self.integers(document.fields["a"])
    for place in stride(from: 0, to: ends.count - 1, by: 2) where ends[place] <= ends[place + 1] {
      taken.append(ends[place]...ends[place + 1])
    }
    kept = Self.integers(document.fields["k"])
    floor = document.integer("f")
  }

  private static func integers(_ value: StoredValue?) -> [Int64] {
    guard case .array(let values)? = value else { return [] }
    return values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
  }

  func hasTaken(_ batch: BatchID) -> Bool { taken.contains { $0.contains(batch.value) } }

  /// Takes a batch, and says whose outcomes can go.
  mutating func take(_ batch: BatchID, firstOpen: BatchID) -> [BatchID] {
    let number = batch.value
    if let place = taken.firstIndex(where: { $0.upperBound == number - 1 }) {
      taken[place] = taken[place].lowerBound...number
    } else {
      taken.append(number...number)
      if taken.count > Self.rangesMax { taken.removeFirst() }
    }
    let gone = kept.filter { $0 < firstOpen.value }
    kept = kept.filter { $0 >= firstOpen.value } + [number]
    floor = max(floor, firstOpen.value)
    return gone.map { BatchID($0) }
  }

  var fields: StoredMap {
    let ends = taken.flatMap { [StoredValue.integer($0.lowerBound), .integer($0.upperBound)] }
    return StoredMap([
      ("a", .array(ends)), ("f", .integer(floor)), ("k", .array(kept.map { .integer($0) })),
    ])
  }
}

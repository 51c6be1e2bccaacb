// Which batches an authority has taken already, kept beside its documents:
//
//   __writers__/<queue>          b: the batches whose outcome is kept; f: those before it were answered
//   __writes__/<queue>:<batch>   r: what transforms of numbers gave, one list for each mutation;
//                                v: the times of documents that it left as they were, 0 for the others
//
// It is written in the commit of the batch itself, so that its time is the commit's. `<queue>` is escaped as in
// CacheKeys.

internal import DocumentStore

enum LoopbackLedger {
  static func writer(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writers__", name(id.queue)])
  }

  static func write(_ id: WriteID) -> DocumentPath {
    DocumentPath(unchecked: ["__writes__", "\(name(id.queue)):\(id.batch)"])
  }

  private static func name(_ queue: String) -> String {
    CacheKeys.escaped(DocumentPath(unchecked: [queue]))
  }

  static func isOfLedger(_ path: DocumentPath) -> Bool {
    path.segments[0] == "__writers__" || path.segments[0] == "__writes__"
  }

  static func batches(_ document: StoredDocument?) -> [Int64] {
    guard case .array(let values)? = document?.fields["b"] else { return [] }
    return values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
  }

  static func floor(_ document: StoredDocument?) -> Int64 { document?.integer("f") ?? 0 }

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
    var versions: [StoredValue] = []
    if case .array(let values)? = document.fields["v"] { versions = values }
    return mutations.enumerated().map { index, mutation in
      let values = index < lists.count ? lists[index] : []
      let results = mutation.transforms.enumerated().map { place, transform in
        transform.operation == .serverTimestamp
          ? .timestamp(time) : place < values.count ? values[place] : StoredValue.null
      }
      var version = SnapshotVersion(time)
      // Nobody is told of a document that was left as it was: it has the time that it had.
      if index < versions.count, case .integer(let old) = versions[index], old != 0 {
        version = SnapshotVersion(microseconds: old)
      }
      return WriteResult(version: version, transformResults: results)
    }
  }

  static func fields(_ results: [[StoredValue]], _ versions: [Int64]) -> StoredMap {
    StoredMap([
      ("r", .array(results.map { .map(StoredMap([("v", .array($0))])) })),
      ("v", .array(versions.map { .integer($0) })),
    ])
  }
}

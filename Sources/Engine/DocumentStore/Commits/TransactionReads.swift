// The reads of a transaction, and whether they still hold.
//
// A transaction may commit if each of its reads would have the same result at the transaction's place in the
// order. A document that was read must have the same update time, or still be absent. For a query, no
// document of the result may have changed, and no other document may match now. If a limit cut off the
// result, a new match conflicts only if it sorts before the last document of the result. For a part of a scan
// that was read, no other document of it may exist now.

struct TransactionReads: Sendable {
  /// The result of one query.
  private struct Range: Sendable {
    /// In executable form.
    let query: StructuredQuery
    let answer: QueryVersions

    func isChanged(by key: [UInt8], _ after: StoredDocument?) -> Bool {
      if let version = answer.times[key] { return after?.updateTime != version }
      guard let after, query.matches(after) else { return false }
      return answer.last.map { query.compare(after, $0) == .before } ?? true
    }
  }

  /// The lowest number of a commit that the transaction's snapshot may lack.
  var floor: UInt64
  /// The update time of each document that was read; nil for an absent document.
  private var documents: [[UInt8]: StoredTimestamp?] = [:]
  private var ranges: [Range] = []
  /// The parts of scans that were read. Their documents are in `documents`.
  private var scans: [PathScan] = []

  init(floor: UInt64) { self.floor = floor }

  var isEmpty: Bool { documents.isEmpty && ranges.isEmpty && scans.isEmpty }

  /// The keys of the locks for everything that was read.
  var lockKeys: [RecordKey] {
    documents.keys.map { RecordKey($0) } + ranges.map { LockKey.range($0.query.scope) }
  }

  mutating func add(_ path: DocumentPath, _ document: StoredDocument?) {
    documents[DocumentKey.encode(path)] = .some(document?.updateTime)
  }

  /// False if the transaction read the document and found it absent.
  func mayExist(_ path: DocumentPath) -> Bool {
    guard let version = documents[DocumentKey.encode(path)] else { return true }
    return version != nil
  }

  /// Adds a query and its result. `answer` is in query order.
  mutating func add(_ query: StructuredQuery, _ answer: [StoredDocument]) {
    let keys = answer.map { (DocumentKey.encode($0.path), $0.updateTime) }
    var versions = QueryVersions(times: Dictionary(keys) { first, _ in first })
    switch query.limit {
    case .first(answer.count): versions.last = answer.last
    case .last(answer.count): versions.last = answer.first
    case .first, .last, nil: break
    }
    add(query, versions)
  }

  /// Adds a query and the versions of the documents in its result.
  mutating func add(_ query: StructuredQuery, _ answer: QueryVersions) {
    ranges.append(Range(query: query.executableForm, answer: answer))
  }

  /// Adds a part of a scan, and its documents.
  mutating func add(_ part: PathScan, _ found: [DocumentRecord]) {
    for record in found { documents[DocumentKey.encode(record.path)] = .some(record.updateTime) }
    if let place = scans.firstIndex(where: { $0.hasScope(of: part) }) {
      scans[place].add(part.ranges)
    } else {
      scans.append(part)
    }
  }

  /// Whether a document exists now in a scan that did not find it.
  private func isNew(_ key: [UInt8], _ after: StoredDocument?) -> Bool {
    guard !scans.isEmpty, let path = after?.path, documents[key] == nil, !path.isReserved else {
      return false
    }
    return scans.contains { $0.contains(path) }
  }

  enum Conflict: Sendable {
    case document
    case answer

    func text(_ key: [UInt8]) -> String {
      let name = DocumentKey.decode(key)?.description ?? ""
      return switch self {
      case .document: "the document \(name) was changed"
      case .answer: "the answer of a query was changed by the document \(name)"
      }
    }
  }

  /// Returns the kind of read that no longer holds after a document has changed, or nil if all reads hold.
  /// `after` is the latest state of the document.
  func conflict(_ key: [UInt8], _ after: StoredDocument?) -> Conflict? {
    if let version = documents[key], version != after?.updateTime { return .document }
    if isNew(key, after) { return .answer }
    return ranges.contains { $0.isChanged(by: key, after) } ? .answer : nil
  }
}

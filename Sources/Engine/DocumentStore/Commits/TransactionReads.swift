// What a transaction has read, and whether that is still so.
//
// A transaction may commit if each of its reads would answer the same where it stands in the order of all commits.
// For a document that is its update time, or that it is absent. For a query it is every document of its answer, and
// that no other document would be in it now: one that matches, and lies before the last of the answer if a limit
// ended that.

struct TransactionReads: Sendable {
  /// Of the answer of a query as it was run.
  private struct Range: Sendable {
    let query: StructuredQuery
    let answer: [[UInt8]: StoredTimestamp]
    /// The last document, if a limit ended the answer.
    let last: StoredDocument?

    func isChanged(by key: [UInt8], _ after: StoredDocument?) -> Bool {
      if let version = answer[key] { return after?.updateTime != version }
      guard let after, query.matches(after) else { return false }
      return last.map { query.compare(after, $0) == .before } ?? true
    }
  }

  /// Commits from this number on may be missing in the snapshot that was read.
  let floor: UInt64
  /// Nil for those that are absent.
  private var documents: [[UInt8]: StoredTimestamp?] = [:]
  private var ranges: [Range] = []

  init(floor: UInt64) { self.floor = floor }

  var isEmpty: Bool { documents.isEmpty && ranges.isEmpty }

  mutating func add(_ path: DocumentPath, _ document: StoredDocument?) {
    documents[DocumentKey.encode(path)] = .some(document?.updateTime)
  }

  /// False if it was read, and absent.
  func canBeThere(_ path: DocumentPath) -> Bool {
    guard let version = documents[DocumentKey.encode(path)] else { return true }
    return version != nil
  }

  /// `answer` in the order of the query.
  mutating func add(_ query: StructuredQuery, _ answer: [StoredDocument]) {
    let keys = answer.map { (DocumentKey.encode($0.path), $0.updateTime) }
    var last: StoredDocument?
    switch query.limit {
    case .first(answer.count): last = answer.last
    case .last(answer.count): last = answer.first
    case .first, .last, nil: break
    }
    ranges.append(
      Range(query: query.asRun, answer: Dictionary(keys) { first, _ in first }, last: last))
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

  /// What of it is not so any more if this is the last state of a document that changed since.
  func conflict(_ key: [UInt8], _ after: StoredDocument?) -> Conflict? {
    if let version = documents[key], version != after?.updateTime { return .document }
    return ranges.contains { $0.isChanged(by: key, after) } ? .answer : nil
  }
}

// The stored documents that a commit builds on.
//
// They are read before the commit has a place in the order, and without its lock. A later commit may change a
// document meanwhile. The commit then reads the document again.

import ByteStore

/// Reads the documents of requests.
struct CommitReader: Sendable {
  let bytes: ByteStore
  let layer: CommitLayer

  // MARK: Reading ahead

  /// Reads the documents that the request builds on. An error is returned as the state of its document, and
  /// thrown only if the commit needs the document.
  func readAhead(_ request: CommitRequest) -> CommitBases {
    var numbers = LookupNumbers()
    let keys = keys(of: request, &numbers)
    do throws(DocumentStoreError) {
      let found = try translatingErrors { () throws(ByteStoreError) in try bytes.lookUp(keys) }
      return CommitBases(found, numbers, of: request, in: self)
    } catch {
      return CommitBases(numbers, failure: error)
    }
  }

  /// The keys of the documents that the request builds on.
  private func keys(of request: CommitRequest, _ numbers: inout LookupNumbers) -> [KeyRequest] {
    var keys: [KeyRequest] = []
    keys.reserveCapacity(request.targets.count)
    unsafe request.targets.withUnsafeBufferPointer { targets in
      for place in targets.indices {
        guard unsafe needsBase(targets[place], request) else { continue }
        numbers.note(lookup: keys.count, ofTarget: place)
        unsafe keys.append(KeyRequest(targets[place].key, hash: targets[place].hash))
      }
    }
    numbers.noteEnd(targets: request.targets.count, lookups: keys.count)
    return keys
  }

  private func needsBase(_ target: CommitRequest.Target, _ request: CommitRequest) -> Bool {
    !request.isBlindRemoval(target) || layer.needsBase(ofCollection: target.path.collectionID)
  }

  // MARK: Resolving

  /// The state of a document that a commit builds on.
  struct Base {
    var document: StoredDocument?
    /// False if the document was not read, because neither the commit nor an index or listener needs it.
    var isKnown = true

    /// Whether a commit that leaves this document may change nothing.
    func mayEqual(_ after: StoredDocument?) -> Bool {
      guard let updateTime = document?.updateTime else { return isKnown && after == nil }
      return after?.updateTime == updateTime
    }
  }

  /// The state of a document that has no pending state. `isCurrent` is true if the documents that were read
  /// ahead are known to be still current.
  func base(
    ofTarget place: Int, _ request: CommitRequest, bases: CommitBases, isCurrent: Bool
  ) throws(DocumentStoreError) -> Base {
    switch bases.state(ofTarget: place) {
    case .notRead: return Base(isKnown: false)
    case .absent:
      if isCurrent { return Base() }
    case .found(let number):
      // The commits since the read usually changed other documents. Whether this document is unchanged is
      // found by comparing bytes, which is cheaper than checking its record again.
      if isCurrent { return Base(document: bases.documents[number]) }
      if try isStored(bases.record(number), request.targets[place].key) {
        return Base(document: bases.documents[number])
      }
    case .failed(let failure):
      // A commit may have replaced the unreadable document since it was read.
      let target = request.targets[place]
      guard let record = try record(target) else { return Base() }
      guard let document = try? document(target, request, record: record) else { throw failure }
      return Base(document: document)
    }
    let target = request.targets[place]
    guard let record = try record(target) else { return Base() }
    return Base(document: try document(target, request, record: record))
  }

  private func isStored(_ record: [UInt8]?, _ key: [UInt8]) throws(DocumentStoreError) -> Bool {
    guard let record else { return false }
    let isSame = try translatingErrors { () throws(ByteStoreError) in
      try bytes.withValue(for: key) { record.rawSpan.isSame(as: $0) }
    }
    return isSame ?? false
  }

  private func record(_ target: CommitRequest.Target) throws(DocumentStoreError) -> [UInt8]? {
    try translatingErrors { () throws(ByteStoreError) in try bytes.value(for: target.key) }
  }

  private func document(
    _ target: CommitRequest.Target, _ request: CommitRequest, record: [UInt8]
  ) throws(DocumentStoreError) -> StoredDocument {
    try document(target, request, record: record, shapes: layer.shapes.table)
  }

  fileprivate func document(
    _ target: CommitRequest.Target, _ request: CommitRequest, record: [UInt8], shapes: ShapeTable
  ) throws(DocumentStoreError) -> StoredDocument {
    do throws(RecordError) { return try request.document(target, record, shapes: shapes) } catch {
      guard request.replaces(target) else {
        throw DocumentStoreError(error, at: target.path, in: bytes.path)
      }
      // The record is unreadable, including its times. The commit replaces the whole record, so this is no
      // reason to fail.
      return StoredDocument(
        path: target.path, createTime: .unreadable, updateTime: .unreadable,
        fields: StoredDocument.damagedFields)
    }
  }
}

/// The documents of a request as readers saw them before the commit had a place in the order.
struct CommitBases {
  enum State {
    /// The commit does not need the document.
    case notRead
    case absent
    /// The number of the document's lookup.
    case found(Int)
    case failed(DocumentStoreError)
  }

  private let found: KeyLookups
  private let numbers: LookupNumbers
  /// By lookup. Empty if no document exists.
  fileprivate let documents: [StoredDocument?]
  /// The errors of single documents, by lookup.
  private let failures: [(lookup: Int, error: DocumentStoreError)]
  /// The error of all lookups.
  private let failure: DocumentStoreError?

  /// The results of lookups.
  fileprivate init(
    _ found: KeyLookups, _ numbers: LookupNumbers, of request: CommitRequest, in reader: CommitReader
  ) {
    self.found = found
    self.numbers = numbers
    failure = nil
    var failures = found.failures.map { ($0.place, DocumentStoreError($0.error)) }
    var documents: [StoredDocument?] = []
    if found.values.contains(where: { $0 != nil }) {
      // Records need a table of shapes that is not older than they are.
      let shapes = reader.layer.shapes.table
      documents.reserveCapacity(found.values.count)
      for place in request.targets.indices {
        guard let number = numbers[place] else { continue }
        var document: StoredDocument?
        if let record = found.values[number] {
          do throws(DocumentStoreError) {
            document = try reader.document(request.targets[place], request, record: record, shapes: shapes)
          } catch {
            failures.append((number, error))
          }
        }
        documents.append(document)
      }
    }
    self.documents = documents
    self.failures = failures
  }

  fileprivate init(_ numbers: LookupNumbers, failure: DocumentStoreError) {
    found = KeyLookups()
    self.numbers = numbers
    documents = []
    failures = []
    self.failure = failure
  }

  func state(ofTarget place: Int) -> State {
    guard let number = numbers[place] else { return .notRead }
    if let failure { return .failed(failure) }
    if !failures.isEmpty, let failed = failures.first(where: { $0.lookup == number }) {
      return .failed(failed.error)
    }
    return !documents.isEmpty && documents[number] != nil ? .found(number) : .absent
  }

  /// The record of a document, by lookup.
  fileprivate func record(_ number: Int) -> [UInt8]? { found.values[number] }

  func lookup(ofTarget place: Int, hash: UInt64) -> KeyLookup {
    guard let number = numbers[place], number < found.lookups.count else {
      return KeyLookup(hash: hash)
    }
    return found.lookups[number]
  }
}

/// The number of each target's lookup.
private struct LookupNumbers {
  /// By target, -1 if there is no lookup. Empty if each target has a lookup.
  private var numbers: [Int32] = []

  subscript(place: Int) -> Int? {
    guard !numbers.isEmpty else { return place }
    return numbers[place] < 0 ? nil : Int(numbers[place])
  }

  /// Notes the lookup of a target. Call this for the targets in order.
  mutating func note(lookup: Int, ofTarget place: Int) {
    guard place != lookup || !numbers.isEmpty else { return }
    noteEnd(targets: place, lookups: lookup)
    numbers.append(Int32(lookup))
  }

  /// Notes that the targets so far have this number of lookups.
  mutating func noteEnd(targets: Int, lookups: Int) {
    guard targets != lookups || !numbers.isEmpty else { return }
    if numbers.isEmpty { numbers = (0..<Int32(lookups)).map { $0 } }
    while numbers.count < targets { numbers.append(-1) }
  }
}

extension CommitChange {
  /// The first change of a document by a commit.
  init(
    _ target: CommitRequest.Target, _ base: CommitReader.Base, after: StoredDocument?, lookup: KeyLookup
  ) {
    self.init(
      path: target.path, key: target.key, before: base.document, isBeforeKnown: base.isKnown, after: after)
    self.lookup = lookup
  }
}

extension CommitLayer {
  fileprivate func needsBase(ofCollection id: String) -> Bool {
    publications.isObserved(id) || indexes.hasIndexes(of: id)
  }
}

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
    var keys: [KeyRequest] = []
    var bases = CommitBases()
    keys.reserveCapacity(request.targets.count)
    unsafe request.targets.withUnsafeBufferPointer { targets in
      for place in targets.indices {
        guard unsafe needsBase(targets[place], request) else { continue }
        bases.note(lookup: keys.count, ofTarget: place)
        unsafe keys.append(KeyRequest(targets[place].key, hash: targets[place].hash))
      }
    }
    bases.noteEnd(targets: request.targets.count, lookups: keys.count)
    do throws(DocumentStoreError) {
      let found = try translatingErrors { () throws(ByteStoreError) in try bytes.lookUp(keys) }
      bases.add(found, request, in: self)
    } catch {
      bases.failure = error
    }
    return bases
  }

  private func needsBase(_ target: CommitRequest.Target, _ request: CommitRequest) -> Bool {
    !request.isBlindRemoval(target) || layer.needsBase(ofCollection: target.path.collectionID)
  }

  // MARK: Resolving

  /// The change of a document that has no pending state. `isCurrent` is true if the documents that were read
  /// ahead are known to be still current.
  func change(
    ofTarget place: Int, _ request: CommitRequest, bases: CommitBases, isCurrent: Bool
  ) throws(DocumentStoreError) -> CommitChange {
    let target = request.targets[place]
    let lookup = bases.lookup(ofTarget: place, hash: target.hash)
    switch bases.state(ofTarget: place) {
    case .notRead:
      return CommitChange(target, .unknown, lookup: lookup)
    case .absent:
      if isCurrent { return CommitChange(target, nil, lookup: lookup) }
    case .found(let record, let document):
      // The commits since the read usually changed other documents. Whether this document is unchanged is
      // found by comparing bytes, which is cheaper than checking its record again.
      if isCurrent { return CommitChange(target, document, lookup: lookup) }
      if try isStored(record, target.key) { return CommitChange(target, document, lookup: lookup) }
    case .failed(let failure):
      // A commit may have replaced the unreadable document since it was read.
      guard let record = try record(target) else { return CommitChange(target, nil, lookup: lookup) }
      guard let document = try? document(target, request, record: record) else { throw failure }
      return CommitChange(target, document, lookup: lookup)
    }
    guard let record = try record(target) else { return CommitChange(target, nil, lookup: lookup) }
    return CommitChange(target, try document(target, request, record: record), lookup: lookup)
  }

  private func isStored(_ record: [UInt8], _ key: [UInt8]) throws(DocumentStoreError) -> Bool {
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
    case found(record: [UInt8], StoredDocument)
    case failed(DocumentStoreError)
  }

  private var found = KeyLookups()
  /// The lookup of each target, or -1 if there is none. Empty if each target has a lookup.
  private var numbers: [Int32] = []
  /// By lookup. Empty if no document exists.
  private var documents: [StoredDocument?] = []
  /// The errors of single documents, by lookup.
  private var failures: [(lookup: Int, error: DocumentStoreError)] = []
  /// The error of all lookups.
  fileprivate(set) var failure: DocumentStoreError?

  func state(ofTarget place: Int) -> State {
    guard let number = number(ofTarget: place) else { return .notRead }
    if let failure { return .failed(failure) }
    if let failed = failures.first(where: { $0.lookup == number }) { return .failed(failed.error) }
    guard let record = found.values[number], let document = documents[number] else { return .absent }
    return .found(record: record, document)
  }

  func lookup(ofTarget place: Int, hash: UInt64) -> KeyLookup {
    guard let number = number(ofTarget: place), number < found.lookups.count else {
      return KeyLookup(hash: hash)
    }
    return found.lookups[number]
  }

  private func number(ofTarget place: Int) -> Int? {
    guard !numbers.isEmpty else { return place }
    return numbers[place] < 0 ? nil : Int(numbers[place])
  }

  /// Notes the lookup of a target. Call this for the targets in order.
  fileprivate mutating func note(lookup: Int, ofTarget place: Int) {
    guard place != lookup || !numbers.isEmpty else { return }
    noteEnd(targets: place, lookups: lookup)
    numbers.append(Int32(lookup))
  }

  /// Notes that the targets so far have this number of lookups.
  fileprivate mutating func noteEnd(targets: Int, lookups: Int) {
    guard targets != lookups || !numbers.isEmpty else { return }
    if numbers.isEmpty { numbers = (0..<Int32(lookups)).map { $0 } }
    while numbers.count < targets { numbers.append(-1) }
  }

  /// Adds the results of the lookups.
  fileprivate mutating func add(_ found: KeyLookups, _ request: CommitRequest, in reader: CommitReader) {
    self.found = found
    failures = found.failures.map { ($0.place, DocumentStoreError($0.error)) }
    guard found.values.contains(where: { $0 != nil }) else { return }
    // Records need a table of shapes that is not older than they are.
    let shapes = reader.layer.shapes.table
    documents.reserveCapacity(found.values.count)
    for place in request.targets.indices {
      guard let number = number(ofTarget: place) else { continue }
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
}

extension CommitChange {
  /// The change of a document that a commit builds on. The commit has not changed it yet.
  init(_ target: CommitRequest.Target, _ document: StoredDocument?, lookup: KeyLookup) {
    self.init(path: target.path, key: target.key, before: document, isBeforeKnown: true, after: document)
    self.lookup = lookup
  }

  fileprivate init(_ target: CommitRequest.Target, _ before: Before, lookup: KeyLookup) {
    self.init(path: target.path, key: target.key, before: before, after: nil)
    self.lookup = lookup
  }
}

extension CommitLayer {
  fileprivate func needsBase(ofCollection id: String) -> Bool {
    publications.isObserved(id) || indexes.hasIndexes(of: id)
  }
}

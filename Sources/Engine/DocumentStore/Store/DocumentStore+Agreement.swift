// Checks that the indexes and the references to contents agree with the documents. Checksums cannot detect
// such a disagreement.
//
//   1. each index contains every key that it should have for a document, and the key maps to that document
//   2. no index contains any other keys
//
// The check reads every document once and keeps none in memory. During this pass, a module above this one may
// compare more of each document (`RecordComparison`).

import ByteStore

/// The counts of an agreement check, and the contradictions it found.
package struct StoreAgreement: Sendable, Equatable {
  /// Further contradictions are only counted.
  package static let contradictionsMax = 100

  /// Number of keys that are paths: user documents and the store's own reserved ones.
  package var records = 0
  /// Number of user documents.
  package var documents = 0
  package var indexes = 0
  package var indexKeys = 0
  package var objects = 0
  package var contents = 0
  /// Contents that no object references. If a content was in use when its last object was deleted, a crash
  /// can leave such a content. These contents only waste space.
  package var unreferencedContents = 0
  /// One sentence per contradiction.
  package private(set) var contradictions: [String] = []
  package private(set) var contradictionsOmitted = 0
  /// Number of contradictions about stored objects; the others are about indexes.
  package private(set) var objectContradictions = 0

  package mutating func add(_ contradiction: String, isOfObject: Bool = false) {
    if isOfObject { objectContradictions += 1 }
    guard contradictions.count < Self.contradictionsMax else {
      contradictionsOmitted += 1
      return
    }
    contradictions.append(contradiction)
  }
}

/// A comparison that takes part in the pass of `DocumentStore.agreement(comparing:progress:)`.
package protocol RecordComparison {
  /// Compares one document, and adds contradictions to `agreement`.
  mutating func add(_ document: StoredDocument, to agreement: inout StoreAgreement) throws(DocumentStoreError)
}

extension DocumentStore {
  /// Throws if a document or an index page cannot be read. Throws `closed` soon after `isCancelled` returns
  /// true.
  package func agreement(
    comparing comparison: inout some RecordComparison, progress: ((_ done: Int, _ total: Int) -> Void)? = nil,
    isCancelled: () -> Bool = { false }
  ) throws(DocumentStoreError) -> StoreAgreement {
    let (snapshot, (names, indexes)) = try byteSnapshot { [indexes] in
      indexes.state.withLock { ($0.names, $0.indexes) }
    }
    let (shapes, total) = (self.indexes.shapes.table, bytes.count)
    var agreement = StoreAgreement(indexes: indexes.count + (names == nil ? 0 : 1))
    var counts = indexes.map { _ in 0 }
    var problem: DocumentStoreError?
    try readAll(snapshot) { ordinal, key, record throws(ByteStoreError) in
      if isCancelled() { throw .closed(directory: self.path) }
      guard problem == nil, DocumentKey.isOfDocument(key),
        let path = DocumentKey.decode(key)
      else { return }
      agreement.records += 1
      if !path.isReserved { agreement.documents += 1 }
      if agreement.records % 1000 == 0 { progress?(agreement.records, total) }
      do throws(DocumentStoreError) {
        let document: StoredDocument
        do throws(RecordError) {
          document = try StoredDocument(path: path, record: record, shapes: shapes)
        } catch {
          throw DocumentStoreError(error, at: path, in: self.path)
        }
        if let names, try !names.tree.maps(NameKey.encode(path), to: ordinal) {
          agreement.add("\(path) is missing in the index of the names")
        }
        for (place, index) in indexes.enumerated()
        where index.definition.collectionID.isSameUTF8(as: path.collectionID) {
          let keys = Set(index.definition.keys(of: document))
          for key in keys where try !index.tree.maps(key, to: ordinal) {
            agreement.add(
              "\(path) is missing in the index \(index.definition), or is there as another document")
          }
          counts[place] += keys.count
        }
        try comparison.add(document, to: &agreement)
      } catch {
        problem = error
      }
    }
    if let problem { throw problem }
    if let names, names.tree.count != agreement.records {
      agreement.add(
        "the index of the names has \(names.tree.count) keys for \(agreement.records) records")
    }
    for (index, count) in zip(indexes, counts) where index.tree.count != count {
      agreement.add(
        "the index \(index.definition) has \(index.tree.count) keys, and the documents have \(count)")
    }
    agreement.indexKeys = counts.reduce(names?.tree.count ?? 0, +)
    return agreement
  }
}

extension OrderedIndex {
  fileprivate func maps(_ key: [UInt8], to ordinal: UInt32) throws(DocumentStoreError) -> Bool {
    let stored = StoredKey.of(key)
    var cursor = try cursor()
    try cursor.seek(stored.rawSpan)
    guard try cursor.next() else { return false }
    return cursor.ordinal == ordinal && cursor.copyKey() == stored
  }
}

// Checks that all indexes and shapes equal the result of a full scan.

import ByteStore

extension DocumentStore {
  package func checkInvariants() throws(DocumentStoreError) {
    if let broken = try invariantBroken() { preconditionFailure(broken) }
  }

  /// Describes the first index that disagrees with the documents; nil if all agree. Reads the whole store.
  /// Throws if a document or an index page cannot be read.
  package func invariantBroken() throws(DocumentStoreError) -> String? {
    let (snapshot, (names, indexes, lost)) = try byteSnapshot { [indexes] in
      indexes.state.withLock { ($0.names, $0.indexes, $0.lost) }
    }
    var expectedNames = ScannedKeys()
    var expected = indexes.map { _ in ScannedKeys() }
    var numbers = indexes.map { _ in NumberCounts() }
    var nested: [String: Int] = [:]
    var problem: DocumentStoreError?
    let shapes = self.indexes.shapes.table
    var definitions: [Shape] = []
    try readAll(snapshot) { ordinal, key, record in
      if let id = Shape.id(of: key) {
        definitions.append(Shape(id: id, definition: record) ?? Shape(id: id, names: []))
      }
      guard DocumentKey.isOfDocument(key) else { return }
      guard let path = DocumentKey.decode(key) else { return }
      expectedNames.add(NameKey.encode(path), ordinal)
      if NameKey.isNested(path) { nested[path.collectionID, default: 0] += 1 }
      do throws(RecordError) {
        let document = try StoredDocument(path: path, record: record, shapes: shapes)
        for (place, index) in indexes.enumerated()
        where index.definition.collectionID.isSameUTF8(as: path.collectionID) {
          let keys = index.definition.keys(of: document)
          for key in keys { expected[place].add(key, ordinal) }
          if !keys.isEmpty { numbers[place].add(index.definition.numbers(of: document)) }
        }
      } catch {
        problem = DocumentStoreError(error, at: path, in: self.path)
      }
    }
    if let problem { throw problem }
    if let broken = self.indexes.shapes.difference(from: definitions) { return broken }
    if let names {
      if let broken = try expectedNames.difference(from: names.tree, long: names.truncatedCount) {
        return "the names: \(broken)"
      }
      if names.nested != nested { return "the names: \(names.nested) are nested, not \(nested)" }
    }
    for (index, numbers) in zip(indexes, numbers) where !index.numbers.agrees(with: numbers) {
      return "the index \(index.definition): it counts other integers and doubles than there are"
    }
    for (index, expected) in zip(indexes, expected) {
      if let broken = try expected.difference(from: index.tree, long: index.longKeys) {
        return "the index \(index.definition): \(broken)"
      }
    }
    // A catalog that lists a definition or an id twice could not be decoded.
    let all = indexes + lost
    guard Set(all.map(\.definition)).count == all.count, Set(all.map(\.id)).count == all.count else {
      return "an index is there twice"
    }
    return nil
  }
}

/// The keys that an index should have.
private struct ScannedKeys {
  private var ordinals: [[UInt8]: UInt32] = [:]
  private var long = 0

  mutating func add(_ key: [UInt8], _ ordinal: UInt32) {
    let stored = StoredKey.of(key)
    if StoredKey.isLong(stored.rawSpan) { long += 1 }
    ordinals[stored] = ordinal
  }

  func difference(from tree: OrderedIndex, long: Int) throws(DocumentStoreError) -> String? {
    guard tree.count == ordinals.count else {
      return "it has \(tree.count) keys, and the documents have \(ordinals.count)"
    }
    guard long == self.long else { return "it counts \(long) long keys, and there are \(self.long)" }
    var cursor = try tree.cursor()
    while try cursor.next() {
      let key = cursor.copyKey()
      guard let ordinal = ordinals[key] else { return "no document has its key \(key)" }
      guard ordinal == cursor.ordinal else {
        return "its key \(key) leads to document \(cursor.ordinal), not \(ordinal)"
      }
    }
    return tree.invariantBroken()
  }
}

// The locks of a transaction: documents, and the collections that its queries search.

/// The keys of locks. A document's lock has the document's key.
enum LockKey {
  /// Begins the key of a range lock. No document's key begins with this byte.
  private static let ranges: UInt8 = 0xFF

  /// Returns each key once, in ascending order. The order of a set would differ from run to run.
  static func sorted(_ keys: some Sequence<RecordKey>) -> [RecordKey] {
    Set(keys).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }

  static func document(_ path: DocumentPath) -> RecordKey { RecordKey(DocumentKey.encode(path)) }

  /// A query locks what it searches. This lock excludes only transactions that search the same collection; it
  /// does not concern transactions that read or write documents of the collection by name.
  static func range(_ scope: StructuredQuery.Scope) -> RecordKey {
    switch scope {
    case .collection(let path): RecordKey([ranges, 0] + DocumentKey.beginning(of: path))
    case .collectionGroup(let id): RecordKey([ranges, 1] + Array(id.utf8))
    case .document(let path): document(path)
    }
  }
}

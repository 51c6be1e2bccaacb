// Changes to an index that is still being built, in the order in which they were made.

import ByteStore

struct OrderedIndexChanges: Sendable {
  private struct Change {
    var key: Range<Int>
    /// The key's new ordinal, or nil to remove the key.
    var ordinal: UInt32?
  }

  private var keys: [UInt8] = []
  private var changes: [Change] = []

  init() {}

  var count: Int { changes.count }
  var isEmpty: Bool { changes.isEmpty }

  mutating func insert(_ key: RawSpan, _ ordinal: UInt32) { append(key, ordinal) }

  mutating func remove(_ key: RawSpan) { append(key, nil) }

  private mutating func append(_ key: RawSpan, _ ordinal: UInt32?) {
    precondition((1...OrderedIndex.keyBytesMax).contains(key.byteCount), "a key has 1 to 768 bytes")
    keys.append(copying: key)
    changes.append(Change(key: keys.count - key.byteCount..<keys.count, ordinal: ordinal))
  }

  fileprivate func forEach(
    _ body: (RawSpan, UInt32?) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    for change in changes { try body(keys.rawSpan.extracting(change.key), change.ordinal) }
  }
}

extension OrderedIndex {
  /// Applies the changes in order. If a change throws an error, all changes before that one have been
  /// applied. Applying all changes again later gives the correct result.
  mutating func apply(_ changes: OrderedIndexChanges) throws(DocumentStoreError) {
    try changes.forEach { key, ordinal throws(DocumentStoreError) in
      if let ordinal { try insert(key, ordinal) } else { try remove(key) }
    }
  }
}

// Decodes the recovered changes of the WAL in parallel, part by part.

import ByteStore
import Dispatch

/// Document changes to apply together.
struct RecoveredDocuments: Sendable {
  var changes: IndexChanges
  var ordinals: [UInt32]
}

/// The recovered changes, in parts that are decoded in parallel.
struct RecoveredParts {
  struct Index: Sendable {
    var id: UInt32
    var definition: IndexDefinition
  }

  /// The number of parts that are collected before they are decoded. During decoding, each processor takes
  /// the next remaining part.
  private static let partsMax = 8
  private static let countMax = 512
  /// Limit on the total size of the records in a part. All collected parts, their indexed values and their
  /// keys are in memory at the same time.
  private static let bytesMax = 1 << 18

  private let indexes: [Index]
  private let decoder: RecoveredDecoder
  private var parts: [[ByteStore.RecoveredChange]] = []
  private var part: [ByteStore.RecoveredChange] = []
  private var bytes = 0

  init(_ indexes: [Index], _ shapes: ShapeTable) {
    self.indexes = indexes
    decoder = RecoveredDecoder(indexes.map(\.definition), shapes)
  }

  var isFull: Bool { parts.count >= Self.partsMax }

  mutating func add(_ change: ByteStore.RecoveredChange) {
    guard change.key.first == DocumentKey.keyspace else { return }
    part.append(change)
    bytes += (change.before?.value.count ?? 0) + (change.after?.value.count ?? 0)
    if part.count >= Self.countMax || bytes >= Self.bytesMax { endPart() }
  }

  private mutating func endPart() {
    parts.append(part)
    (part, bytes) = ([], 0)
  }

  /// Decodes and removes the added changes, and returns them in the order in which they were added.
  mutating func take() -> [RecoveredDocuments] {
    if !part.isEmpty { endPart() }
    defer { parts = [] }
    let (parts, indexes, decoder) = (parts, indexes, decoder)
    var results = [RecoveredDocuments?](repeating: nil, count: parts.count)
    unsafe results.withUnsafeMutableBufferPointer { results in
      // Safe, because each iteration writes only its own element, and the elements are read after all
      // iterations have returned.
      nonisolated(unsafe) let results = unsafe results
      DispatchQueue.concurrentPerform(iterations: parts.count) { place in
        let documents = decoder.documents(of: parts[place])
        documents.changes.makeKeys(for: indexes)
        unsafe results[place] = documents
      }
    }
    return results.compactMap { $0 }
  }
}

extension IndexChanges {
  /// Computes all index keys that may be needed when the changes are applied.
  fileprivate func makeKeys(for indexes: [RecoveredParts.Index]) {
    _ = names
    for index in indexes where concerns(index.definition) { _ = keys(for: index.id, index.definition) }
  }
}

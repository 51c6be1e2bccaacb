// Changes of which the logs tell, decoded part by part beside each other.

import ByteStore
import Dispatch

/// Changes of documents that are to be applied together.
struct RecoveredDocuments: Sendable {
  var changes: IndexChanges
  var ordinals: [UInt32]
}

/// What is decoded at a time.
struct RecoveredParts {
  struct Index: Sendable {
    var id: UInt32
    var definition: IndexDefinition
  }

  /// Each processor takes the next part that is left.
  private static let partsMax = 8
  private static let countMax = 512
  /// Of a part's records. All parts, the values that indexes have, and their keys are in memory together.
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

  /// What was added, in that order.
  mutating func take() -> [RecoveredDocuments] {
    if !part.isEmpty { endPart() }
    defer { parts = [] }
    let (parts, indexes, decoder) = (parts, indexes, decoder)
    var made = [RecoveredDocuments?](repeating: nil, count: parts.count)
    unsafe made.withUnsafeMutableBufferPointer { made in
      // Safe, because each element is written by the one iteration that has its number, and read when all have returned.
      nonisolated(unsafe) let made = unsafe made
      DispatchQueue.concurrentPerform(iterations: parts.count) { place in
        let documents = decoder.documents(of: parts[place])
        documents.changes.makeKeys(for: indexes)
        unsafe made[place] = documents
      }
    }
    return made.compactMap { $0 }
  }
}

extension IndexChanges {
  /// All that may be asked for.
  fileprivate func makeKeys(for indexes: [RecoveredParts.Index]) {
    _ = names
    for index in indexes where concerns(index.definition) { _ = keys(for: index.id, index.definition) }
  }
}

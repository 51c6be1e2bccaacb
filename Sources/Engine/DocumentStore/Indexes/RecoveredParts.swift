// Makes the index keys of the recovered changes of the WAL in parallel, part by part.

import ByteStore
import Dispatch

/// The recovered changes, in parts that are processed in parallel.
struct RecoveredParts {
  struct Index: Sendable {
    var id: UInt32
    var definition: IndexDefinition
  }

  /// The number of parts that are collected before their keys are made. Each processor takes the next
  /// remaining part.
  private static let partsMax = 8
  private static let countMax = 512
  /// Limit on the total size of the records in a part. All collected parts and their keys are in memory
  /// at the same time.
  private static let bytesMax = 1 << 18

  private let indexes: [Index]
  private let shapes: ShapeTable
  private var parts: [[ByteStore.RecoveredChange]] = []
  private var part: [ByteStore.RecoveredChange] = []
  private var bytes = 0

  init(_ indexes: [Index], _ shapes: ShapeTable) {
    self.indexes = indexes
    self.shapes = shapes
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

  /// Removes the added changes, and returns their keys in the order in which they were added.
  mutating func take() -> [RecoveredDocuments] {
    if !part.isEmpty { endPart() }
    defer { parts = [] }
    let (parts, indexes, shapes) = (parts, indexes, shapes)
    var results = [RecoveredDocuments?](repeating: nil, count: parts.count)
    unsafe results.withUnsafeMutableBufferPointer { results in
      // Safe, because each iteration writes only its own element, and the elements are read after all
      // iterations have returned.
      nonisolated(unsafe) let results = unsafe results
      DispatchQueue.concurrentPerform(iterations: parts.count) { place in
        unsafe results[place] = RecoveredDocuments(parts[place], indexes, shapes: shapes)
      }
    }
    return results.compactMap { $0 }
  }
}

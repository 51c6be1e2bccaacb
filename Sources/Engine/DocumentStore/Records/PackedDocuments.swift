// Documents that are kept in case somebody asks for them: copies of their records in one piece of memory.
//
// Kept as they were read, each would be several objects, and to let go of one that was read a thousand reads ago waits for
// the memory of each of them. A copy costs less than that, and what was read is let go of while it is at hand.
//
//   packed   := document*
//   document := segments:varint (bytes:varint segment){segments} bytes:varint record

import ByteStore

/// Documents of one database, in the order in which they came.
package struct PackedDocuments: Sendable {
  /// A larger record costs more to copy than its objects do.
  private static let recordBytesMax = 4 << 10

  private var bytes: [UInt8] = []
  /// With which all of the records can be read: shapes come with ids above all before, and never go.
  private var shapes = ShapeTable.empty
  package private(set) var count = 0

  package init() {}

  package var byteCount: Int { bytes.count }

  /// False, and nothing is done, if its record is not at hand, or large, or has shapes of another database.
  package mutating func append(_ document: borrowing DocumentRecord) -> Bool {
    guard let record = document.checked, record.bytes.count <= Self.recordBytesMax, takes(record) else {
      return false
    }
    // What lies in an array would be counted as referred to, each segment for itself.
    unsafe document.path.segments.withUnsafeBufferPointer { segments in
      bytes.append(varint: UInt64(segments.count))
      for place in segments.indices {
        unsafe bytes.append(varint: UInt64(segments[place].utf8.count))
        unsafe bytes.append(utf8: segments[place])
      }
    }
    bytes.append(varint: UInt64(record.bytes.count))
    bytes.append(contentsOf: record.bytes)
    count += 1
    return true
  }

  /// Whether its record can be read with the others.
  private mutating func takes(_ record: CheckedRecord) -> Bool {
    if record.shapes.origin === shapes.origin, record.shapes.shapes.count <= shapes.shapes.count {
      return true
    }
    guard record.shapes.origin != nil else { return true }
    guard shapes.origin == nil || shapes.origin === record.shapes.origin else { return false }
    shapes = record.shapes
    return true
  }

  package var documents: [DocumentRecord] {
    var documents: [DocumentRecord] = []
    documents.reserveCapacity(count)
    var packed = Reader(packed: bytes)
    for _ in 0..<count {
      let segments = (0..<packed.number()).map { _ in String(decoding: packed.bytes(), as: UTF8.self) }
      do throws(RecordError) {
        documents.append(
          try DocumentRecord(
            path: DocumentPath(unchecked: segments), record: Array(packed.bytes()), shapes))
      } catch {
        preconditionFailure("a record that was checked is one no more")
      }
    }
    return documents
  }

  /// Its memory serves again.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    shapes = .empty
    count = 0
  }

  private struct Reader {
    let packed: [UInt8]
    var offset = 0

    mutating func number() -> Int {
      guard let (number, next) = packed.rawSpan.varint(at: offset, before: packed.count) else {
        preconditionFailure("what was packed ends early")
      }
      offset = next
      return number
    }

    mutating func bytes() -> ArraySlice<UInt8> {
      let count = number()
      defer { offset += count }
      return packed[offset..<offset + count]
    }
  }
}

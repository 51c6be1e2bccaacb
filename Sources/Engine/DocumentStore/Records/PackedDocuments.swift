// A cache of documents as record copies in one buffer, for later reads.
//
// A document that is stored separately consists of several objects. Freeing an object that was last used long
// ago costs a cache miss. Copying is cheaper, and the original can be freed while it is still in the cache.
//
//   packed   := document*
//   document := segments:varint (bytes:varint segment){segments} bytes:varint record

import ByteStore

/// Documents of one database, in insertion order.
package struct PackedDocuments: Sendable {
  /// The maximum size of a record in this cache. Copying a larger record costs more than freeing its objects.
  private static let recordBytesMax = 4 << 10

  private var bytes: [UInt8] = []
  /// The latest shape table. It suffices for all records, because new shapes get higher ids and shapes are
  /// never removed.
  private var shapes = ShapeTable.empty
  package private(set) var count = 0

  package init() {}

  package var byteCount: Int { bytes.count }

  /// Appends a document. Returns false and changes nothing if the document is already decoded, is too large,
  /// or uses shapes of another database.
  package mutating func append(_ document: borrowing DocumentRecord) -> Bool {
    guard let record = document.checked, record.bytes.count <= Self.recordBytesMax, accepts(record) else {
      return false
    }
    // Use the buffer, because iterating over the array would retain and release every segment.
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

  /// Returns whether the record can be decoded with the cache's shapes. If the record has a newer shape
  /// table, the cache switches to that table first.
  private mutating func accepts(_ record: CheckedRecord) -> Bool {
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
            path: DocumentPath(unchecked: segments), record: Array(packed.bytes()), shapes: shapes))
      } catch {
        preconditionFailure("a record that was checked does not decode")
      }
    }
    return documents
  }

  /// Removes all documents and keeps the storage for reuse.
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
        preconditionFailure("the packed data ends early")
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

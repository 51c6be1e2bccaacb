// Encodes fields as records of one store.
//
// Each store keeps one writer for reuse. Threads that encode at the same time create further ones.

import ByteStore
import Synchronization

/// Encodes the fields of documents for one store. May be used by any thread.
package struct FieldsEncoder: Sendable {
  package let shapes: ShapeDictionary
  /// Whether maps may get new shapes. Maps without a shape contain their names.
  private let admitsShapes: Bool

  package init(_ shapes: ShapeDictionary) { self.init(shapes, admitsShapes: true) }

  private init(_ shapes: ShapeDictionary, admitsShapes: Bool) {
    self.shapes = shapes
    self.admitsShapes = admitsShapes
  }

  /// The encoder for fields that change a part of a document. The names of such fields are no shape, because
  /// each update of a document may have others.
  package var forPatches: FieldsEncoder { withoutNewShapes }

  /// The encoder that uses the shapes there are and creates none. For fields whose write may be refused:
  /// their maps get new shapes only in a commit.
  package var withoutNewShapes: FieldsEncoder { FieldsEncoder(shapes, admitsShapes: false) }

  /// The encoder for fields that belong to no store. Their maps contain their names.
  package static let withoutStore = FieldsEncoder(ShapeDictionary(), admitsShapes: false)

  /// Encodes fields that `body` writes into the outermost map. Returns nil if the fields may exceed a limit
  /// of documents, so that another encoder must find out which. `kind` tells apart documents of different
  /// kinds.
  package func encode<Failure: Error>(
    kind: Int = 0, _ body: (inout RecordWriter, RecordWriter.OpenMap) throws(Failure) -> Void
  ) throws(Failure) -> StoredMap? {
    try withWriter { writer throws(Failure) in
      writer.stopsAtLimits = true
      defer { writer.stopsAtLimits = false }
      let map = writer.begin(kind: kind)
      try body(&writer, map)
      guard writer.isWithinLimits else { return nil }
      writer.end(map)
      return writer.isWithinLimits ? StoredMap(writer.finish()) : nil
    }
  }

  /// Returns the record of fields, and encodes the fields if they are not a record of this store yet. If the
  /// record's `checkedSize` is nil, the fields may exceed a limit. `DocumentLimits` must then check the given
  /// fields, because a record beyond the limits cannot be decoded.
  static func record(of fields: StoredMap, shapes: ShapeDictionary) -> CheckedRecord {
    if let record = fields.record, shapes.owns(record.shapes), !record.lacksShapes { return record }
    return FieldsEncoder(shapes).withWriter { writer in
      writer.record(of: fields)
      return writer.finish()
    }
  }

  /// Returns the record of fields; nil if the fields may exceed a limit of documents.
  static func recordWithinLimits(of fields: StoredMap, shapes: ShapeDictionary) -> CheckedRecord? {
    FieldsEncoder(shapes).withWriter { writer in
      writer.stopsAtLimits = true
      defer { writer.stopsAtLimits = false }
      writer.record(of: fields)
      let record = writer.finish()
      return record.checkedSize == nil ? nil : record
    }
  }

  private func withWriter<Result, Failure: Error>(
    _ body: (inout RecordWriter) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let writer = unsafe shapes.writers.take()
    defer { unsafe shapes.writers.recycle(writer) }
    if admitsShapes {
      unsafe writer.pointee.shapes = shapes
    } else if unsafe writer.pointee.snapshot.version != shapes.version {
      unsafe writer.pointee.snapshot = shapes.snapshot
    }
    defer { unsafe writer.pointee.shapes = nil }
    return try unsafe body(&writer.pointee)
  }
}

extension StoredMap {
  /// False if a field of this map, which was just encoded, was written more than once.
  package var hasFieldsWrittenOnce: Bool { record?.checkedSize != nil }
}

extension DocumentStore {
  /// The encoder for fields that are written to this store.
  package var fieldsEncoder: FieldsEncoder { FieldsEncoder(indexes.shapes) }
}

/// A place for one unused writer.
///
/// Ownership: a writer belongs to the pool or to the thread that took it, never to both, because both sides
/// exchange the address atomically.
@safe
struct RecordWriterPool: ~Copyable, Sendable {
  /// Above this capacity, a writer is not kept.
  private static let keptBytesMax = 1 << 18
  /// The address of the unused writer; 0 if there is none.
  private let unused = Atomic<UInt>(0)

  deinit { unsafe Self.free(unused.load(ordering: .acquiring)) }

  func take() -> UnsafeMutablePointer<RecordWriter> {
    let address = unused.exchange(0, ordering: .acquiring)
    if let writer = unsafe UnsafeMutablePointer<RecordWriter>(bitPattern: address) { return unsafe writer }
    let new = UnsafeMutablePointer<RecordWriter>.allocate(capacity: 1)
    unsafe new.initialize(to: RecordWriter())
    return unsafe new
  }

  func recycle(_ writer: UnsafeMutablePointer<RecordWriter>) {
    let address = UInt(bitPattern: writer)
    guard unsafe writer.pointee.bytes.capacity <= Self.keptBytesMax else { return unsafe Self.free(address) }
    unsafe Self.free(unused.exchange(address, ordering: .acquiringAndReleasing))
  }

  @unsafe private static func free(_ address: UInt) {
    guard let writer = unsafe UnsafeMutablePointer<RecordWriter>(bitPattern: address) else { return }
    unsafe writer.deinitialize(count: 1)
    unsafe writer.deallocate()
  }
}

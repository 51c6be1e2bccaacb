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
  package var forPatches: FieldsEncoder { FieldsEncoder(shapes, admitsShapes: false) }

  /// Encodes fields that `body` writes into the outermost map. Returns nil if the fields may exceed a limit
  /// of documents, so that another encoder must find out which. `kind` tells apart documents of different
  /// kinds.
  package func encode<Failure: Error>(
    kind: Int = 0, _ body: (inout RecordWriter, RecordWriter.OpenMap) throws(Failure) -> Void
  ) throws(Failure) -> StoredMap? {
    try withWriter { writer throws(Failure) in
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
    if let record = fields.record, shapes.owns(record.shapes) { return record }
    return FieldsEncoder(shapes).withWriter { writer in
      let map = writer.begin()
      writer.endFields(fields, map)
      return writer.finish()
    }
  }

  /// Returns the record of fields; nil if the fields may exceed a limit of documents.
  static func recordWithinLimits(of fields: StoredMap, shapes: ShapeDictionary) -> CheckedRecord? {
    FieldsEncoder(shapes).withWriter { writer in
      writer.stopsAtLimits = true
      defer { writer.stopsAtLimits = false }
      let map = writer.begin()
      writer.endFields(fields, map)
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

// MARK: - Trees

extension RecordWriter {
  /// Writes the fields of a map that has just begun, and ends it.
  mutating func endFields(_ fields: StoredMap, _ map: OpenMap) {
    // Use the buffer, because iterating over the array would retain and release each value.
    unsafe fields.entries.withUnsafeBufferPointer { entries in
      if let shape = unsafe shape(of: entries, map) {
        for place in entries.indices {
          beginField(slot: place, in: map)
          unsafe value(entries.value(at: place).pointee)
        }
        order.truncate(to: 0)
        endMap(map, with: shape)
      } else {
        for place in entries.indices {
          beginField(slot: place, in: map)
          unsafe value(entries.value(at: place).pointee)
        }
        order.truncate(to: 0)
        unsafe endNamed(map, entries.map { $0.name })
      }
    }
  }

  /// The shape of a map whose names are sorted; nil if it has none.
  private mutating func shape(
    of entries: UnsafeBufferPointer<StoredMap.Entry>, _ map: OpenMap
  ) -> ShapeSlots? {
    if let shape = map.shape, unsafe shape.isOf(entries) { return shape }
    guard (1...Shape.namesMax).contains(entries.count) else { return nil }
    var hash: UInt64 = 0
    for place in entries.indices { unsafe hash &+= FieldNameKey(entries.name(at: place).pointee).hash }
    if let shape = snapshot.candidate(count: entries.count, hash: hash), unsafe shape.isOf(entries) {
      return shape
    }
    return unsafe shape(of: entries.map { $0.name })
  }

  /// Writes a value.
  package mutating func value(_ value: StoredValue) {
    switch value {
    case .null: null()
    case .boolean(let value): boolean(value)
    case .integer(let value): integer(value)
    case .double(let value): double(value)
    case .timestamp(let value): timestamp(value)
    case .pendingTimestamp(let time, let previous):
      let sizeBefore = beginPendingTimestamp(time)
      if let previous {
        if case .pendingTimestamp = previous {
          noteViolation()
          if !stopsAtLimits { self.value(previous) }
        } else {
          self.value(previous)
        }
      }
      endPendingTimestamp(sizeBefore)
    case .string(let value): string(value)
    case .bytes(let value): bytes(value.rawSpan)
    case .reference(let value): reference(value)
    case .geoPoint(let value): geoPoint(value)
    case .array(let elements): array(elements)
    case .vector(let value): vector(value)
    case .map(let fields):
      let map = beginMap()
      endFields(isTooDeep ? StoredMap() : fields, map)
    }
  }

  private mutating func array(_ elements: [StoredValue]) {
    let array = beginArray()
    let elements = isTooDeep ? [] : elements
    unsafe elements.withUnsafeBufferPointer { elements in
      for place in elements.indices {
        element(in: array)
        unsafe value(elements[place])
        if unsafe elements[place].isArray { noteViolation() }
      }
    }
    end(array)
  }
}

extension StoredValue {
  fileprivate var isArray: Bool { if case .array = self { true } else { false } }
}

extension ShapeSlots {
  /// Whether the entries have exactly these names, in order.
  fileprivate func isOf(_ entries: UnsafeBufferPointer<StoredMap.Entry>) -> Bool {
    guard names.count == entries.count else { return false }
    // Use the buffers, because iterating over the arrays would retain and release each name.
    return unsafe names.withUnsafeBufferPointer { names in
      for place in names.indices {
        guard unsafe names[place].isSameUTF8(as: entries.name(at: place).pointee) else { return false }
      }
      return true
    }
  }
}

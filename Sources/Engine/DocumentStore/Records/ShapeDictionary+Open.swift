// Loads the shapes when a database is opened.
//
// The checkpoint lists all shapes that existed when it was written, and the WAL has the later shapes. If the
// list in the checkpoint is missing, for example after a salvage, every possible id is looked up. In that
// case, new ids are assigned only once it is known which ids the records use.

import ByteStore

extension ShapeDictionary {
  /// Call this after the checkpoint was loaded and before any record is read.
  func catchUp(with store: ByteStore) {
    if knowsIDs {
      store.forEachRecoveredKey { key in
        if let id = Shape.id(of: key.rawSpan) { look(for: id, in: store) }
      }
    } else {
      for id in 0...Shape.idMax { look(for: id, in: store) }
    }
  }

  /// An unreadable definition counts as missing. Then only the records that need this shape are damaged.
  private func look(for id: Int, in store: ByteStore) {
    let definition = try? store.value(for: Shape.key(id))
    if let definition, let shape = Shape(id: id, definition: definition.rawSpan) { add(shape) }
  }
}

extension RecordCodec {
  /// Returns an id above all shape ids that can be found in the record. A map with an unknown shape cannot be
  /// searched for further ids.
  static func nextShape(after record: RawSpan, _ shapes: ShapeTable) -> Int {
    guard let start = fieldsStart(record) else { return 0 }
    let shapeBytes = shapes.bytes
    return ShapeSearch(record: record, shapes: shapeBytes.rawSpan)
      .next(afterMap: start..<record.byteCount, depth: 0)
  }
}

private struct ShapeSearch: ~Escapable {
  let record: RawSpan
  let shapes: RawSpan

  @_lifetime(copy record, copy shapes)
  init(record: RawSpan, shapes: RawSpan) {
    self.record = record
    self.shapes = shapes
  }

  func next(afterMap range: Range<Int>, depth: Int) -> Int {
    let head = record.varint(at: range.lowerBound, before: range.upperBound)?.value ?? 0
    let own = head >> 2 <= Shape.idMax + 1 ? head >> 2 : 0
    guard
      let layout = RecordLayout(
        mapIn: record, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    else { return own }
    return max(own, next(afterPartsOf: layout, areNamed: layout.shape == 0, depth: depth))
  }

  private func next(afterPartsOf layout: RecordLayout, areNamed: Bool, depth: Int) -> Int {
    var result = 0
    var start = layout.first
    for index in 0..<layout.count {
      var value: Range<Int>?
      if areNamed {
        value = layout.range(ofEntry: index, in: record)
          .flatMap { RecordLayout.parts(ofEntry: $0, in: record)?.value }
      } else {
        value = layout.end(ofValue: index, from: start, in: record).map { start..<$0 }
      }
      guard let value else { return result }
      start = value.upperBound
      result = max(result, next(afterValue: value, depth: depth))
    }
    return result
  }

  private func next(afterValue range: Range<Int>, depth: Int) -> Int {
    guard depth < RecordCodec.depthMax else { return 0 }
    let inner = range.lowerBound + 1..<range.upperBound
    switch RecordCodec.Tag(rawValue: record.byte(at: range.lowerBound)) {
    case .map: return next(afterMap: inner, depth: depth + 1)
    case .array:
      let layout = RecordLayout(arrayIn: record, from: inner.lowerBound, to: inner.upperBound)
      return layout.map { next(afterPartsOf: $0, areNamed: false, depth: depth + 1) } ?? 0
    default: return 0
    }
  }
}

// Reads the names of a map, and the paths of its leaves, without decoding its values.

import ByteStore

extension StoredMap {
  /// The names of the fields, in order.
  package var names: [String] { record?.parts?.map(\.name) ?? entries.map(\.name) }
}

extension CheckedRecord {
  private typealias Part = (name: String, value: Range<Int>)

  /// The paths of all values that are not maps with fields. Nil at damage, which no checked record has.
  var leaves: [StoredFieldPath]? {
    var leaves: [StoredFieldPath] = []
    return addLeaves(ofMap: fields, at: [], to: &leaves) ? leaves : nil
  }

  /// Whether the outermost map contains only values that contain no others.
  var holdsOnlyScalars: Bool {
    parts?.allSatisfy { !RecordShapes.isContainer(bytes[$0.value.lowerBound]) } ?? false
  }

  fileprivate var parts: [(name: String, value: Range<Int>)]? { parts(ofMap: fields) }

  private func addLeaves(
    ofMap range: Range<Int>, at place: [String], to leaves: inout [StoredFieldPath]
  ) -> Bool {
    guard let parts = parts(ofMap: range) else { return false }
    for (name, value) in parts {
      let path = place + [name]
      guard let inner = fields(inValue: value) else {
        leaves.append(StoredFieldPath(unchecked: path))
        continue
      }
      guard addLeaves(ofMap: inner, at: path, to: &leaves) else { return false }
    }
    return true
  }

  /// The range of the map in a value; nil for other values, and for maps without fields.
  private func fields(inValue range: Range<Int>) -> Range<Int>? {
    guard bytes[range.lowerBound] == RecordCodec.Tag.map.rawValue else { return nil }
    let inner = range.lowerBound + 1..<range.upperBound
    return withSpans { bytes, shapes in
      let layout = RecordLayout(mapIn: bytes, from: inner.lowerBound, to: inner.upperBound, shapes: shapes)
      return layout?.count == 0 ? nil : inner
    }
  }

  private func parts(ofMap range: Range<Int>) -> [Part]? {
    withSpans { bytes, shapeBytes in
      guard let head = bytes.varint(at: range.lowerBound, before: range.upperBound)?.value,
        let layout = RecordLayout(
          mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapeBytes)
      else { return nil }
      var values = RecordValues(layout, areNamed: layout.shape == 0)
      var parts: [Part] = []
      parts.reserveCapacity(layout.count)
      if layout.shape > 0 {
        for name in shapes.shapes[head >> 2 - 1]?.names ?? [] {
          guard let value = values.next(in: bytes) else { return nil }
          parts.append((name, value))
        }
      } else {
        while let (name, value) = values.nextEntry(in: bytes) {
          parts.append((String(decoding: self.bytes[name], as: UTF8.self), value))
        }
      }
      return values.isAtEnd ? parts : nil
    }
  }
}

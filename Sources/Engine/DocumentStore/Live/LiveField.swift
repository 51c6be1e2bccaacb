// The views' conditions, as a tree of field names.
//
// A document and the tree are walked together. At each level, the side with fewer names is iterated, and its
// names are looked up in the other side. So neither a document with many fields nor thousands of views on
// different fields make a change expensive.

import ByteStore

/// A field, or the root of the tree, which represents the top-level map of a document.
final class LiveField {
  private struct Name: Hashable {
    let text: String
    init(_ text: String) { self.text = text }
    static func == (left: Self, right: Self) -> Bool { left.text.isSameUTF8(as: right.text) }
    func hash(into hasher: inout Hasher) { [text].hashUTF8(into: &hasher) }
  }

  private struct Inner {
    let name: String
    let field: LiveField
    /// Position of the field in the previous document.
    var place = 0
    /// Position of the field in the previous record with a shape.
    var slot: ShapeSlot?
  }

  /// The position of a field in all maps with one shape; nil if the shape does not have the field.
  private struct ShapeSlot {
    let origin: ShapeTable.Origin?
    let shape: Int
    let slot: Int?
  }

  /// Views with a condition on an exact value of this field.
  var values = LiveValues()
  /// Views with a condition on an element of this field's array.
  var elements = LiveValues()
  /// Views with a condition on a range of this field's values.
  let ranges = LiveRanges<LiveMatcherEntry>()
  /// The fields inside this field's map value, unordered.
  private var fields: [Inner] = []
  private var places: [Name: Int] = [:]

  private var isEmpty: Bool { values.isEmpty && elements.isEmpty && ranges.count == 0 && fields.isEmpty }

  // MARK: Views

  subscript(path: StoredFieldPath) -> LiveField? {
    var field = self
    for name in path.names {
      guard let inner = field[name] else { return nil }
      field = inner
    }
    return field
  }

  private subscript(name: String) -> LiveField? { places[Name(name)].map { fields[$0].field } }

  /// Returns the field at a path. Creates the field if it does not exist.
  func fieldCreatingIfNeeded(at path: StoredFieldPath) -> LiveField {
    path.names.reduce(self) { $0[$1] ?? $0.make($1) }
  }

  private func make(_ name: String) -> LiveField {
    let field = LiveField()
    places[Name(name)] = fields.count
    fields.append(Inner(name: name, field: field))
    return field
  }

  /// Removes the field, and then its ancestors, if no view depends on them.
  func trim(at path: StoredFieldPath) { trim(at: path.names[...]) }

  private func trim(at names: ArraySlice<String>) {
    guard let name = names.first, let field = self[name] else { return }
    field.trim(at: names.dropFirst())
    guard field.isEmpty, let place = places.removeValue(forKey: Name(name)) else { return }
    let last = fields.removeLast()
    guard place < fields.count else { return }
    fields[place] = last
    places[Name(last.name)] = place
  }

  // MARK: Changes

  /// Adds to `found` all views with a condition that a value in `map` satisfies. `key` is scratch space for
  /// values.
  func find(in map: StoredMap, _ key: inout [UInt8], found: inout [ObjectIdentifier: LiveView]) {
    if let record = map.record, find(in: record, &key, found: &found) { return }
    if fields.count <= map.count {
      for number in fields.indices {
        guard let value = map.value(of: fields[number].name, near: &fields[number].place) else { continue }
        fields[number].field.find(value, &key, found: &found)
      }
    } else {
      for entry in map.entries { self[entry.name]?.find(entry.value, &key, found: &found) }
    }
  }

  /// Finds views without decoding other fields. Returns false, and adds no views, if the record's fields have
  /// no shape, or if they are fewer than the names in this tree.
  private func find(
    in record: CheckedRecord, _ key: inout [UInt8], found: inout [ObjectIdentifier: LiveView]
  ) -> Bool {
    let (bytes, shapes) = (record.bytes, record.shapes)
    let (start, end) = (record.fieldsStart, record.bytes.count)
    let decoder = RecordDecoder(bytes.rawSpan, shapes, shapeBytes: shapes.bytes.rawSpan)
    guard let head = bytes.rawSpan.varint(at: start, before: end)?.value,
      let layout = RecordLayout(mapIn: bytes.rawSpan, from: start, to: end, shapes: shapes.bytes.rawSpan),
      layout.shape > 0, fields.count <= layout.count
    else { return false }
    for number in fields.indices {
      guard let slot = slot(of: number, inShape: head >> 2 - 1, at: layout.shape, shapes: shapes),
        let place = layout.range(ofValue: slot, in: bytes.rawSpan),
        let value = try? decoder.value(place, depth: 0)
      else { continue }
      fields[number].field.find(value, &key, found: &found)
    }
    return true
  }

  /// The slot of a field in a shape. `place` is the shape's place in the bytes of the shapes.
  private func slot(of number: Int, inShape id: Int, at place: Int, shapes: ShapeTable) -> Int? {
    if let known = fields[number].slot, known.shape == id, known.origin === shapes.origin {
      return known.slot
    }
    let slot = ShapeBytes(shapes.bytes.rawSpan).slot(named: fields[number].name, place)
    fields[number].slot = ShapeSlot(origin: shapes.origin, shape: id, slot: slot)
    return slot
  }

  private func find(
    _ value: StoredValue, _ key: inout [UInt8], found: inout [ObjectIdentifier: LiveView]
  ) {
    if !values.isEmpty || ranges.count > 0 {
      key.replace(withKeyOf: value)
      if let more = values.views(at: key) { found.merge(more) { view, _ in view } }
      ranges.forEach(having: key) { found[ObjectIdentifier($0.view)] = $0.view }
    }
    if !elements.isEmpty, case .array(let list) = value {
      for element in list {
        key.replace(withKeyOf: element)
        if let more = elements.views(at: key) { found.merge(more) { view, _ in view } }
      }
    }
    if !fields.isEmpty, case .map(let map) = value { find(in: map, &key, found: &found) }
  }
}

// Changes the top-level fields of a checked record without decoding the other fields.
//
//   1. Collect the changes: fields that a mask copies from other fields, then the results of transforms. A
//      change below a map decodes this map alone.
//   2. Determine the shape, which is the old one unless fields are added or removed.
//   3. Write the record: ranges of the old record, ranges of the record with the new fields, and values
//      that are encoded (`RecordSplice`).
//
// The bytes are those that an encoding of all resulting fields would give. Therefore a kept value is encoded
// again if it contains a map with names, because this map may have got a shape since.

import ByteStore

struct RecordPatch {
  /// The change of one field.
  private struct Change {
    let name: String
    /// The field's position in the old record, or the position of the first field after it.
    let index: Int
    let isPresent: Bool
    var value: NewValue
  }

  private enum NewValue {
    case removed
    case value(StoredValue)
    /// A value in the record with the new fields.
    case encoded(Range<Int>)
  }

  private let base: CheckedRecord
  private let layout: RecordLayout
  private let dictionary: ShapeDictionary
  /// The record from which the mask copies.
  private var source: CheckedRecord?
  /// In name order.
  private var changes: [Change] = []

  /// Nil if the fields are not a record, or if it is a record with other shapes than those of `dictionary`.
  init?(_ fields: StoredMap, _ dictionary: ShapeDictionary) {
    guard let base = fields.record, dictionary.owns(base.shapes),
      let layout = base.withSpans({ bytes, shapes in
        RecordLayout(mapIn: bytes, from: base.fieldsStart, to: bytes.byteCount, shapes: shapes)
      })
    else { return nil }
    self.base = base
    self.layout = layout
    self.dictionary = dictionary
  }

  // MARK: 1. Changes

  /// Copies the field at each path from `fields`, like `StoredMap.replacing`. Must be called before any
  /// transform is applied.
  mutating func copy(_ paths: [StoredFieldPath], from fields: StoredMap) {
    if let record = fields.record, dictionary.owns(record.shapes) { source = record }
    changes.reserveCapacity(paths.count)
    var rest = paths[...]
    while let first = rest.first {
      let name = first.names[0]
      guard first.names.count > 1 else {
        rest.removeFirst()
        note(name, newValue(of: name, in: fields))
        continue
      }
      let group = rest.prefix { $0.names[0].isSameUTF8(as: name) }
      rest = rest[group.endIndex...]
      let old = StoredMap(sorted: value(of: name).map { [(name, $0)] } ?? [])
      let new = old.replacing(Array(group), from: fields)[name]
      note(name, new.map(NewValue.value) ?? .removed)
    }
  }

  private func newValue(of name: String, in fields: StoredMap) -> NewValue {
    guard let source else { return fields[name].map(NewValue.value) ?? .removed }
    return source.range(ofField: name).map(NewValue.encoded) ?? .removed
  }

  /// Applies a transform to the fields so far. Returns its result, like `FieldTransform.apply`.
  mutating func apply(_ transform: FieldTransform, at time: StoredTimestamp) -> StoredValue {
    let name = transform.field.names[0]
    let old = value(of: name)
    guard transform.field.names.count == 1 else {
      var fields = StoredMap(sorted: old.map { [(name, $0)] } ?? [])
      let result = transform.apply(to: &fields, at: time)
      note(name, fields[name].map(NewValue.value) ?? .removed)
      return result
    }
    let new = transform.operation.value(from: old, at: time)
    note(name, .value(new))
    return transform.operation.elements == nil ? new : .null
  }

  /// The value of a field after the changes so far.
  private func value(of name: String) -> StoredValue? {
    if let change = changes.first(where: { $0.name.isSameUTF8(as: name) }) {
      switch change.value {
      case .removed: return nil
      case .value(let value): return value
      case .encoded(let range): return source?.value(in: range)
      }
    }
    return base.value(of: name)
  }

  private mutating func note(_ name: String, _ value: NewValue) {
    // A mask is sorted, so most changes are the last one.
    let place =
      changes.last.map { $0.name.precedesInUTF8(name) } ?? true
      ? changes.count : changes.firstIndex { !$0.name.precedesInUTF8(name) } ?? changes.count
    if place < changes.count, changes[place].name.isSameUTF8(as: name) {
      changes[place].value = value
      return
    }
    let (index, isPresent) = base.position(ofField: name, layout)
    if case .removed = value, !isPresent { return }
    changes.insert(Change(name: name, index: index, isPresent: isPresent, value: value), at: place)
  }

  // MARK: Comparison

  /// Whether the fields after the changes equal those before.
  var isUnchanged: Bool {
    changes.allSatisfy { change in
      switch change.value {
      case .removed: !change.isPresent
      case .value(let value): change.isPresent && base.value(at: change.index, layout) == value
      case .encoded(let range): change.isPresent && isSame(change.index, range)
      }
    }
  }

  private func isSame(_ index: Int, _ range: Range<Int>) -> Bool {
    guard let source else { return false }
    return base.withSpans { bytes, shapes in
      guard let old = layout.range(ofField: index, in: bytes) else { return false }
      return source.withSpans { sourceBytes, sourceShapes in
        FieldsComparison(
          FieldsComparison.Side(bytes, shapes: shapes),
          FieldsComparison.Side(sourceBytes, shapes: sourceShapes), areShapesSame: true
        ).areSame(values: old, range)
      }
    }
  }

  // MARK: 2. Shape

  /// The names of the fields after the changes.
  private var names: [String] {
    var names = base.names(layout)
    for change in changes.reversed() {
      switch (change.value, change.isPresent) {
      case (.removed, true): names.remove(at: change.index)
      case (.value, false), (.encoded, false): names.insert(change.name, at: change.index)
      case (.removed, false), (_, true): break
      }
    }
    return names
  }

  /// Whether fields are added or removed.
  private var changesNames: Bool {
    changes.contains { change in
      if case .removed = change.value { true } else { !change.isPresent }
    }
  }

  // MARK: 3. Record

  /// The record after the changes, with these times in its head. Nil if the fields cannot be a record.
  func record(created: StoredTimestamp, updated: StoredTimestamp) -> CheckedRecord? {
    if changes.isEmpty, layout.shape > 0 || layout.count == 0, !mustEncodeAgain { return base }
    // An encoder of all fields looks up the shape of the outer map before those of inner maps.
    var shape = layout.shape > 0 ? base.shapeOfFields : nil
    var names: [String] = []
    if shape == nil || changesNames {
      names = self.names
      shape = dictionary.id(of: names)
    }
    var splice = RecordSplice(
      base: base, source: source, dictionary: dictionary, count: layout.count + changes.count)
    guard collectValues(in: &splice) else { return nil }
    return splice.record(shape: shape, names: names, created: created, updated: updated)
  }

  /// Whether a kept value contains a map with names.
  private var mustEncodeAgain: Bool {
    base.withSpans { bytes, shapes in
      (0..<layout.count).contains { index in
        layout.range(ofField: index, in: bytes)
          .map { RecordShapes(bytes, shapes: shapes).hasNames(inValue: $0) } ?? true
      }
    }
  }

  /// Passes all values in name order to the splice. Returns false at damage.
  private func collectValues(in splice: inout RecordSplice) -> Bool {
    var parts = RecordValues(layout, areNamed: layout.shape == 0)
    var next = 0
    let bytes = base.bytes
    for index in 0..<layout.count {
      guard let range = parts.next(in: bytes.rawSpan) else { return false }
      var isKept = true
      while next < changes.count, changes[next].index == index {
        if changes[next].isPresent { isKept = false }
        append(changes[next].value, to: &splice)
        next += 1
      }
      if isKept { splice.append(kept: range, tag: bytes[range.lowerBound]) }
    }
    for change in changes[next...] { append(change.value, to: &splice) }
    return parts.isAtEnd
  }

  private func append(_ value: NewValue, to splice: inout RecordSplice) {
    switch value {
    case .removed: break
    case .value(let value): splice.append(value)
    case .encoded(let range): splice.append(new: range)
    }
  }
}

// MARK: - Fields by position

extension RecordLayout {
  /// The value at `index` of a map.
  func range(ofField index: Int, in bytes: RawSpan) -> Range<Int>? {
    guard shape == 0 else { return range(ofValue: index, in: bytes) }
    return range(ofEntry: index, in: bytes).flatMap { Self.parts(ofEntry: $0, in: bytes)?.value }
  }
}

extension CheckedRecord {
  /// The id of the shape of the fields, which must have one.
  fileprivate var shapeOfFields: Int? {
    withSpans { bytes, _ in
      bytes.varint(at: fieldsStart, before: bytes.byteCount).map { $0.value >> 2 - 1 }
    }
  }

  fileprivate func names(_ layout: RecordLayout) -> [String] {
    if layout.shape > 0 { return shapeOfFields.flatMap { shapes.shapes[$0]?.names } ?? [] }
    return entries.map(\.name)
  }

  fileprivate func range(ofField name: String) -> Range<Int>? {
    var name = name
    return name.withUTF8 { name in
      withSpans { bytes, shapes in
        let name = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name))
        let layout = RecordLayout(mapIn: bytes, from: fieldsStart, to: bytes.byteCount, shapes: shapes)
        guard case .value(let range)? = layout?.find(name, in: bytes, shapes: shapes) else { return nil }
        return range
      }
    }
  }

  /// The position of a field, or of the first field after it.
  fileprivate func position(ofField name: String, _ layout: RecordLayout) -> (index: Int, isPresent: Bool) {
    var name = name
    return name.withUTF8 { name in
      withSpans { bytes, shapes in
        let name = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name))
        let side = FieldsComparison.Side(bytes, shapes: shapes)
        var low = 0
        var high = layout.count
        while low < high {
          let middle = (low + high) / 2
          let order = side.name(middle, layout).compare(with: name)
          if order == 0 { return (middle, true) }
          if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
      }
    }
  }

  fileprivate func value(at index: Int, _ layout: RecordLayout) -> StoredValue? {
    withSpans { bytes, shapeBytes in
      layout.range(ofField: index, in: bytes).flatMap {
        try? RecordDecoder(bytes, shapes, shapeBytes: shapeBytes).value($0, depth: 0)
      }
    }
  }

  /// Decodes the value in a range, which begins with its tag.
  func value(in range: Range<Int>) -> StoredValue? {
    withSpans { bytes, shapeBytes in
      try? RecordDecoder(bytes, shapes, shapeBytes: shapeBytes).value(range, depth: 0)
    }
  }
}

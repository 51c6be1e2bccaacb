// Walks over maps and arrays from their last value to the first one, for encoders that write backwards.
//
// An encoder that puts the size of a value in front of it knows the size once the value is written. If it
// writes from the end of its buffer towards the front, it needs no second pass for the sizes.

extension MapView {
  /// Calls `body` with each field, in the reverse order of the names. Returns false if the bytes are not a
  /// valid map.
  @inlinable @inline(__always)
  package func forEachFieldBackwards(
    _ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void
  ) -> Bool {
    guard let layout = RecordLayout(mapIn: bytes, from: 0, to: bytes.byteCount, shapes: shapes) else {
      return false
    }
    let address = RecordAddress(bytes)
    if layout.shape > 0 {
      return layout.forEachValueBackwards(in: bytes, shapes, depth: depth) { slot, value in
        body(shapes.name(slot, layout.shape, count: layout.count), value)
      }
    }
    var index = layout.count
    while index > 0 {
      index &-= 1
      let entry = FieldCursor.entry(index, layout, in: address)
      guard entry.valueStart < entry.end,
        let value = unsafe ValueView(
          address, from: entry.valueStart, to: entry.end, shapes: shapes, depth: depth)
      else { return false }
      body(
        unsafe TextView(
          RecordAddress(address, advancedBy: entry.nameStart), count: entry.valueStart &- entry.nameStart),
        value)
    }
    return true
  }
}

extension ValueView {
  /// Calls `body` with each element of an array, from the last one to the first one. Returns false for other
  /// types, and if the array is damaged.
  @inlinable @inline(__always)
  package func forEachElementBackwards(_ body: (borrowing ValueView) -> Void) -> Bool {
    guard tag == 10, depth < 20 else { return false }
    let payload = payload
    guard let layout = RecordLayout(arrayIn: payload, from: 0, to: payload.byteCount) else { return false }
    return layout.forEachValueBackwards(in: payload, shapes, depth: depth &+ 1) { _, value in body(value) }
  }

  // MARK: Values of other types

  /// The latitude and the longitude of a geo point; nil for other types.
  @inlinable @inline(__always)
  package var geoPoint: (latitude: Double, longitude: Double)? {
    guard tag == 9 else { return nil }
    let payload = payload
    return (Double(bitPattern: payload.word(at: 0)), Double(bitPattern: payload.word(at: 8)))
  }

  /// Calls `body` with the elements of a vector, each of eight bytes; nil for other types.
  @inlinable @inline(__always)
  package func withVector<Result>(_ body: (_ elements: RawSpan) -> Result) -> Result? {
    tag == 11 ? body(payload) : nil
  }

  /// Calls `body` with the parts of a reference. The path is text with slashes between its names. Nil for
  /// other types and at damage.
  package func withReference<Result>(
    _ body: (_ project: RawSpan, _ database: RawSpan, _ path: RawSpan) -> Result
  ) -> Result? {
    guard tag == 8 else { return nil }
    let payload = payload
    let end = payload.byteCount
    guard let (project, projectStart) = payload.varint(at: 0, before: end), project <= end - projectStart,
      let (database, databaseStart) = payload.varint(at: projectStart + project, before: end),
      database <= end - databaseStart
    else { return nil }
    return body(
      payload.extracting(projectStart..<projectStart + project),
      payload.extracting(databaseStart..<databaseStart + database),
      payload.extracting(databaseStart + database..<end))
  }
}

extension RecordLayout {
  /// `forEachValue` from the last value to the first one.
  @inlinable @inline(__always)
  func forEachValueBackwards(
    in bytes: RawSpan, _ shapes: ShapeBytes, depth: Int,
    _ body: (_ index: Int, borrowing ValueView) -> Void
  ) -> Bool {
    guard count > 0 else { return true }
    let address = RecordAddress(bytes)
    // The table has the lengths of all values but the last one, so their sum leads to the last value.
    var start = first &+ bytes.sum(of: count &- 1, numbersAt: table, width: width)
    var end = end
    var index = count &- 1
    while true {
      guard first <= start, start < end,
        let value = unsafe ValueView(address, from: start, to: end, shapes: shapes, depth: depth)
      else { return false }
      body(index, value)
      guard index > 0 else { return start == first }
      index &-= 1
      end = start
      // The layout has checked the table's bounds.
      start = unsafe end &- address.number(at: table &+ index &* width, width: width)
    }
  }
}

extension StoredMap {
  /// Calls `body` with a view of the record that holds the fields. Nil if the map consists of entries.
  package func withRecordFields<Result>(_ body: (borrowing MapView) -> Result) -> Result? {
    guard let record else { return nil }
    return record.withSpans { bytes, shapes in
      body(MapView(bytes.extracting(droppingFirst: record.fieldsStart), ShapeBytes(shapes), depth: 0))
    }
  }
}

// Writes trees of values.
//
// The number of values in a map or an array is known before its first value. Its table is therefore reserved
// in front of the values, and filled while they are written. The numbers of a table have one byte at first.
// Once a value is too long for that, the table is widened.
//
// The writer reads values in place, because a copy of a value retains its content.

import ByteStore

extension RecordWriter {
  /// Writes a record with these fields, which has a placeholder for the times.
  mutating func record(of fields: StoredMap) {
    beginRecord()
    map(fields, isNested: false)
  }

  /// Writes a value.
  package mutating func value(_ value: StoredValue) {
    unsafe withUnsafePointer(to: value) { unsafe self.value(at: $0) }
  }

  private mutating func value(at pointer: UnsafePointer<StoredValue>) {
    guard !leavesOut(bytes: 0) else { return }
    switch unsafe pointer.pointee {
    case .null: null()
    case .boolean(let value): boolean(value)
    case .integer(let value): integer(value)
    case .double(let value): double(value)
    case .timestamp(let value): timestamp(value)
    case .pendingTimestamp(let time, let previous): pendingTimestamp(time, previous)
    case .string(let value): string(value)
    case .bytes(let value): bytes(value.rawSpan)
    case .reference(let value): reference(value)
    case .geoPoint(let value): geoPoint(value)
    case .array(let elements): array(elements)
    case .vector(let value): vector(value)
    case .map(let fields): nestedMap(fields)
    }
  }

  private mutating func pendingTimestamp(_ time: StoredTimestamp, _ previous: StoredValue?) {
    let sizeBefore = beginPendingTimestamp(time)
    if let previous {
      if case .pendingTimestamp = previous {
        noteViolation()
        if !stopsAtLimits { value(previous) }
      } else {
        value(previous)
      }
    }
    endPendingTimestamp(sizeBefore)
  }

  // MARK: Maps

  private mutating func nestedMap(_ fields: StoredMap) {
    beginNested(.map)
    map(isTooDeep ? StoredMap() : fields, isNested: true)
  }

  /// Writes the head, the table and the values of a map.
  private mutating func map(_ fields: StoredMap, isNested: Bool) {
    unsafe fields.entries.withUnsafeBufferPointer { entries in
      if let shape = unsafe shape(of: entries) {
        unsafe values(of: entries, shape)
        endValues(shape, isNested: isNested)
      } else {
        unsafe namedMap(entries, isNested: isNested)
      }
    }
  }

  /// The shape of a map whose names are sorted; nil if it has none.
  private mutating func shape(of entries: UnsafeBufferPointer<StoredMap.Entry>) -> ShapeSlots? {
    if let shape = expectedShape, unsafe shape.isOf(entries) { return shape }
    guard (1...Shape.namesMax).contains(entries.count) else { return nil }
    var hash: UInt64 = 0
    for place in entries.indices { unsafe hash &+= FieldNameKey(entries.name(at: place).pointee).hash }
    if let shape = snapshot.candidate(count: entries.count, hash: hash), unsafe shape.isOf(entries) {
      expect(shape)
      return shape
    }
    guard let shape = unsafe shape(of: entries.map { $0.name }) else { return nil }
    expect(shape)
    return shape
  }

  private mutating func values(of entries: UnsafeBufferPointer<StoredMap.Entry>, _ shape: ShapeSlots) {
    let mapPlace = place
    var table = OpenTable(head: shape.id &+ 1, count: entries.count, in: &bytes)
    for slot in entries.indices {
      place = mapPlace &* 31 &+ slot &+ 1
      let start = bytes.count
      unsafe value(at: entries.value(at: slot))
      table.end(slot, bytes: bytes.count &- start, in: &bytes)
    }
  }

  /// Writes a map that contains its names.
  private mutating func namedMap(_ entries: UnsafeBufferPointer<StoredMap.Entry>, isNested: Bool) {
    let map = openMap(isNested: isNested)
    for index in entries.indices {
      beginField(slot: index, in: map)
      unsafe value(at: entries.value(at: index))
    }
    order.truncate(to: 0)
    unsafe endNamed(map, entries.map { $0.name })
  }

  // MARK: Arrays

  private mutating func array(_ elements: [StoredValue]) {
    beginNested(.array)
    let arrayPlace = place
    let elements = isTooDeep ? [] : elements
    var table = OpenTable(head: elements.count, count: elements.count, in: &bytes)
    unsafe elements.withUnsafeBufferPointer { elements in
      guard let first = elements.baseAddress else { return }
      for index in elements.indices {
        place = arrayPlace
        let start = bytes.count
        // Noted before the inner array is written, so that its elements are left out.
        if case .array = unsafe first[index] { noteViolation() }
        unsafe value(at: first + index)
        table.end(index, bytes: bytes.count &- start, in: &bytes)
      }
    }
    endArray()
  }
}

/// A table whose values are being written behind it.
private struct OpenTable {
  private let head: Int
  private let headStart: Int
  private let headBytes: Int
  /// The number of lengths in the table. The last value has none.
  private let lengths: Int
  /// The size of a length is 1 << code.
  private var code = 0

  /// Writes the head, and reserves the table of `count` values.
  init(head: Int, count: Int, in bytes: inout RecordBuffer) {
    self.head = head
    headStart = bytes.count
    lengths = max(count &- 1, 0)
    bytes.append(varint: head << 2)
    headBytes = bytes.count &- headStart
    bytes.appendGap(lengths)
  }

  private var start: Int { headStart &+ headBytes }

  /// Sets the length of the value that was written last.
  @inline(__always)
  mutating func end(_ index: Int, bytes length: Int, in bytes: inout RecordBuffer) {
    guard index < lengths else { return }
    if length > 0xFF { widen(for: length, index, in: &bytes) }
    bytes.set(length, at: start &+ index << code, width: 1 << code)
  }

  /// Makes the numbers wide enough for a length, and keeps those of the values before `index`.
  @inline(never)
  private mutating func widen(for length: Int, _ index: Int, in bytes: inout RecordBuffer) {
    let new = length > 0xFFFF ? 2 : 1
    guard new > code else { return }
    let end = start + lengths << code
    bytes.insertGap(lengths << new - lengths << code, at: end)
    // From the last number to the first one, because the table grows to the right.
    for earlier in (0..<index).reversed() {
      let number = bytes.number(at: start + earlier << code, width: 1 << code)
      bytes.set(number, at: start + earlier << new, width: 1 << new)
    }
    code = new
    bytes.set(varint: head << 2 | code, at: headStart, bytes: headBytes)
  }
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

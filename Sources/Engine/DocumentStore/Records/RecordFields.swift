// Lookups of fields in an encoded map, one after another.
//
// A lookup first tries the slot that was recorded for the type that is being decoded (FieldNames.swift). If
// the type looks up another name, the lookup tries the field after the last one found, and then does a binary
// search.

import ByteStore

/// Looks up the fields of one map. Must be used by one thread at a time.
package final class RecordFields {
  /// The object that reads the fields. It is kept here, so that one reference leads to both.
  package let reader: AnyObject?
  private let record: CheckedRecord
  private let layout: RecordLayout
  /// The names of the map's shape; nil if the map has no shape.
  private let names: FieldNames?
  /// The recorded order; nil if there is none, or if a new one is being recorded.
  private let order: LookupOrder?
  /// The number of lookups that were in the recorded order.
  private var lookups = 0
  /// Nil if the lookups are not recorded.
  private let recorder: LookupRecorder?
  /// The slot after the field found last, and the offset of its value.
  private var nextSlot = 0
  private var nextStart: Int

  /// `type` identifies the type that looks up the fields.
  package init(_ map: RecordMap, for type: ObjectIdentifier? = nil, reader: AnyObject? = nil) {
    self.reader = reader
    record = map.record
    layout = map.record.layout(ofMap: map.range)
    names = layout.shape > 0 ? map.names : nil
    nextStart = layout.first
    guard let type, let names else {
      (order, recorder) = (nil, nil)
      return
    }
    let (known, shouldRecord) = names.order(of: type)
    order = shouldRecord ? nil : known
    recorder = shouldRecord ? LookupRecorder(of: type, in: names, outgrown: known) : nil
  }

  // MARK: Fields by position

  package var count: Int { layout.count }

  package func name(at index: Int) -> String {
    if let names { return names.names[index] }
    return String(decoding: record.bytes[record.entry(index, layout).name], as: UTF8.self)
  }

  package func value(at index: Int) -> RecordValue { value(at: location(of: index)) }

  /// Negative, zero or positive if the name at `index` sorts before, equals, or sorts after `name`.
  package func compareName(at index: Int, to name: String) -> Int {
    if let names { return names.names[index].comparedInUTF8(to: name) }
    var name = name
    let place = record.entry(index, layout).name
    return name.withUTF8 { name in
      record.withSpans { bytes, _ in
        bytes.extracting(place).compare(with: unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)))
      }
    }
  }

  // MARK: Lookups

  /// The position of a field in name order.
  package func position(of name: String) -> Int? {
    let slot = slot(of: name)
    return slot < 0 ? nil : slot
  }

  /// The location of a field's value; nil if the map does not have the field.
  package func find(_ name: String) -> ValueLocation? {
    let slot = slot(of: name)
    return slot < 0 ? nil : location(of: slot)
  }

  /// Negative if the map does not have the name.
  @inline(__always)
  private func slot(of name: String) -> Int {
    let index = lookups
    guard let order, index < order.expected.count, order.expected[index].hasWords(of: name) else {
      return search(name)
    }
    lookups = index &+ 1
    return order.expected[index].slot
  }

  @inline(never)
  private func search(_ name: String) -> Int {
    if let order, order.isExpected(name, at: lookups) {
      lookups += 1
      return order.expected[lookups - 1].slot
    }
    let slot = Self.place(among: count, after: nextSlot) { compareName(at: $0, to: name) }
    recorder?.add(name, at: slot)
    if let order {
      if lookups >= order.expected.count { order.noteOutgrown() }
      // Continue after this field if the decoded type has skipped some fields.
      if let slot, let index = order.index(of: slot) { lookups = index + 1 }
    }
    return slot ?? -1
  }

  /// Finds the name for which `compare` returns 0, among `count` sorted names. Tries `next` and its
  /// predecessor first.
  package static func place(among count: Int, after next: Int, _ compare: (Int) -> Int) -> Int? {
    if next < count, compare(next) == 0 { return next }
    if next > 0, compare(next - 1) == 0 { return next - 1 }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = compare(middle)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  @inline(__always)
  private func location(of slot: Int) -> ValueLocation {
    guard layout.shape > 0 else {
      let range = record.entry(slot, layout).value
      nextSlot = slot &+ 1
      return record.withBytes {
        ValueLocation(range.lowerBound, range.upperBound, tag: $0.byte(at: range.lowerBound))
      }
    }
    return record.withBytes { bytes in
      // Most types look up the fields in name order, so the value usually follows the one found last.
      let start =
        slot == nextSlot
        ? nextStart : layout.first &+ bytes.sum(of: slot, numbersAt: layout.table, width: layout.width)
      guard start < layout.end, let end = layout.end(ofValue: slot, from: start, in: bytes) else {
        preconditionFailure("a record was not checked before it was read")
      }
      nextSlot = slot &+ 1
      nextStart = end
      return ValueLocation(start, end, tag: bytes.byte(at: start))
    }
  }

  // MARK: Values

  /// The map at a location that `find` returned. The value must be a map.
  package func map(at location: ValueLocation) -> RecordMap {
    precondition(location.isMap, "a value of another type is not a map")
    return RecordMap(record, location.payload)
  }

  /// The value at a location that `find` returned.
  package func value(at location: ValueLocation) -> RecordValue { RecordValue(record, location.range) }

  // Each of these methods returns nil unless the value has exactly this type.

  package func string(at location: ValueLocation) -> String? {
    payload(location, .string) { String(validated: $0) }
  }

  /// Nil unless the value is an array of strings only.
  package func strings(at location: ValueLocation) -> [String]? {
    location.tag == .array ? value(at: location).strings : nil
  }

  package func integer(at location: ValueLocation) -> Int64? { payload(location, .integer) { $0.signed } }

  package func double(at location: ValueLocation) -> Double? {
    payload(location, .double) { Double(bitPattern: $0.doubleBits) }
  }

  package func timestamp(at location: ValueLocation) -> StoredTimestamp? {
    payload(location, .timestamp) { StoredTimestamp(microseconds: $0.signed) }
  }

  @inline(__always)
  private func payload<Found>(
    _ location: ValueLocation, _ tag: RecordCodec.Tag, _ body: (RawSpan) -> Found?
  ) -> Found? {
    guard location.tag == tag else { return nil }
    return record.withBytes { body($0.extracting(location.payload)) }
  }
}

/// The location of a value in a record.
package struct ValueLocation: Sendable {
  private let start: UInt32
  private let end: UInt32
  fileprivate let tag: RecordCodec.Tag

  /// The value has at least one byte, its tag. Records are much smaller than 4 GiB.
  @inline(__always)
  fileprivate init(_ start: Int, _ end: Int, tag: UInt8) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.end = UInt32(truncatingIfNeeded: end)
    self.tag = RecordCodec.Tag(rawValue: tag) ?? .null
  }

  fileprivate var range: Range<Int> { Int(start)..<Int(end) }
  fileprivate var payload: Range<Int> { Int(start) + 1..<Int(end) }

  /// Whether the value is null. A pending timestamp counts as null.
  package var isNull: Bool { tag == .null || tag == .pendingTimestamp }

  package var isMap: Bool { tag == .map }

  /// The boolean; nil for other types.
  package var boolean: Bool? {
    switch tag {
    case .true: true
    case .false: false
    default: nil
    }
  }
}

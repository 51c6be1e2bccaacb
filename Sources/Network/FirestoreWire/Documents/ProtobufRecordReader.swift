// Reads fields from protobuf straight into a record: the usual case, without a tree of values.
//
// The reader expects messages in the form in which all encoders write them: a name before its value, one
// content for each value, no unknown fields. If it meets anything else, it gives up, and ProtobufValueReader
// reads the same bytes again. That reader knows all of protobuf, and finds the error if there is one.

import ByteStore
import DocumentStore

struct ProtobufRecordReader: ~Escapable {
  let bytes: RawSpan

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// The first byte of fields of these numbers.
  enum Tag {
    static let entryName: UInt8 = 0x0A
    static let entryValue: UInt8 = 0x12
    static let mapEntry: UInt8 = 0x0A
    static let element: UInt8 = 0x0A
  }

  // MARK: Maps

  /// Reads entries of a map: the first one behind its tag, and those that follow with this tag. Returns the
  /// number of bytes. Nil if the bytes are unusual, or break a rule.
  func fields(
    behind tag: UInt8, of map: RecordWriter.OpenMap, into writer: inout RecordWriter
  ) -> Int? {
    var offset = 0
    while true {
      guard let end = entry(offset, before: bytes.byteCount, of: map, into: &writer, depth: 0) else {
        return nil
      }
      offset = end
      guard offset < bytes.byteCount, bytes.byte(offset) == tag else { return offset }
      offset &+= 1
    }
  }

  /// A number for documents with the same first field. They mostly have the same shape, also if documents of
  /// several collections are read in turn.
  func kind(behind tag: UInt8) -> Int {
    guard let entry = bytes.sized(0, before: bytes.byteCount), entry.count >= 2,
      let name = bytes.sized(entry.lowerBound &+ 1, before: entry.upperBound), name.count > 0
    else { return 0 }
    return name.count &+ 31 &* Int(bytes.byte(name.lowerBound))
  }

  /// Reads an entry of a map whose size is at `offset`. Returns the end of the entry.
  @inline(__always)
  private func entry(
    _ offset: Int, before end: Int, of map: RecordWriter.OpenMap, into writer: inout RecordWriter, depth: Int
  ) -> Int? {
    guard let entry = bytes.sized(offset, before: end), !entry.isEmpty,
      bytes.byte(entry.lowerBound) == Tag.entryName,
      let name = bytes.sized(entry.lowerBound &+ 1, before: entry.upperBound),
      name.upperBound < entry.upperBound, bytes.byte(name.upperBound) == Tag.entryValue,
      let value = bytes.sized(name.upperBound &+ 1, before: entry.upperBound),
      value.upperBound == entry.upperBound,
      writer.field(utf8: bytes.extracting(name), in: map),
      self.value(value, into: &writer, isElement: false, depth: depth)
    else { return nil }
    return entry.upperBound
  }

  private func map(_ range: Range<Int>, into writer: inout RecordWriter, isElement: Bool, depth: Int) -> Bool
  {
    guard depth < ValueBudget.depthMax else { return false }
    if let elements = vector(range) {
      guard !isElement else { return false }
      write(vector: elements, into: &writer)
      return true
    }
    let map = writer.beginMap()
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard bytes.byte(offset) == Tag.mapEntry,
        let end = entry(offset &+ 1, before: range.upperBound, of: map, into: &writer, depth: depth &+ 1)
      else { return false }
      offset = end
    }
    writer.end(map)
    return true
  }

  // MARK: Values

  /// Reads a value. `depth` is the number of maps and arrays around it, without the outermost map.
  private func value(
    _ range: Range<Int>, into writer: inout RecordWriter, isElement: Bool, depth: Int
  ) -> Bool {
    guard range.count >= 2 else { return false }
    let (start, end) = (range.lowerBound, range.upperBound)
    switch bytes.byte(start) {
    case 0x08:
      guard range.count == 2, bytes.byte(start &+ 1) < 2 else { return false }
      writer.boolean(bytes.byte(start &+ 1) == 1)
    case 0x10:
      guard let (number, next) = bytes.varint(start &+ 1, before: end), next == end else { return false }
      writer.integer(Int64(bitPattern: number))
    case 0x19:
      guard range.count == 9 else { return false }
      writer.double(Double(bitPattern: bytes.littleEndianWord(start &+ 1)))
    case 0x58:
      guard range.count == 2, bytes.byte(start &+ 1) == 0 else { return false }
      writer.null()
    case 0x8A:
      guard let text = content(start, end) else { return false }
      return writer.string(utf8: bytes.extracting(text))
    case 0x92:
      guard let content = content(start, end) else { return false }
      writer.bytes(bytes.extracting(content))
    case let tag:
      guard let content = bytes.sized(start &+ 1, before: end), content.upperBound == end else {
        return false
      }
      switch tag {
      case 0x2A: return reference(content, into: &writer)
      case 0x32: return map(content, into: &writer, isElement: isElement, depth: depth)
      case 0x42: return geoPoint(content, into: &writer)
      case 0x4A: return !isElement && array(content, into: &writer, depth: depth)
      case 0x52: return timestamp(content, into: &writer)
      default: return false
      }
    }
    return true
  }

  /// The content of a string or bytes, whose tags have two bytes. Nil unless it ends at `end`.
  @inline(__always)
  func content(_ start: Int, _ end: Int) -> Range<Int>? {
    guard bytes.byte(start &+ 1) == 1, let content = bytes.sized(start &+ 2, before: end),
      content.upperBound == end
    else { return nil }
    return content
  }

  private func array(_ range: Range<Int>, into writer: inout RecordWriter, depth: Int) -> Bool {
    guard depth < ValueBudget.depthMax else { return false }
    let array = writer.beginArray()
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard bytes.byte(offset) == Tag.element,
        let element = bytes.sized(offset &+ 1, before: range.upperBound)
      else { return false }
      writer.element(in: array)
      guard value(element, into: &writer, isElement: true, depth: depth &+ 1) else { return false }
      offset = element.upperBound
    }
    writer.end(array)
    return true
  }

  private func timestamp(_ range: Range<Int>, into writer: inout RecordWriter) -> Bool {
    var offset = range.lowerBound
    var (seconds, nanos): (UInt64, UInt64) = (0, 0)
    if offset < range.upperBound, bytes.byte(offset) == 0x08 {
      guard let (number, next) = bytes.varint(offset &+ 1, before: range.upperBound) else { return false }
      (seconds, offset) = (number, next)
    }
    if offset < range.upperBound, bytes.byte(offset) == 0x10 {
      guard let (number, next) = bytes.varint(offset &+ 1, before: range.upperBound) else { return false }
      (nanos, offset) = (number, next)
    }
    guard offset == range.upperBound, nanos < 1_000_000_000,
      let time = StoredTimestamp(
        seconds: Int64(bitPattern: seconds), nanoseconds: Int32(truncatingIfNeeded: nanos))
    else { return false }
    writer.timestamp(time)
    return true
  }

  private func geoPoint(_ range: Range<Int>, into writer: inout RecordWriter) -> Bool {
    var offset = range.lowerBound
    var (latitude, longitude) = (0.0, 0.0)
    if range.upperBound &- offset >= 9, bytes.byte(offset) == 0x09 {
      latitude = Double(bitPattern: bytes.littleEndianWord(offset &+ 1))
      offset &+= 9
    }
    if range.upperBound &- offset >= 9, bytes.byte(offset) == 0x11 {
      longitude = Double(bitPattern: bytes.littleEndianWord(offset &+ 1))
      offset &+= 9
    }
    guard offset == range.upperBound,
      let point = StoredGeoPoint(latitude: latitude, longitude: longitude)
    else { return false }
    writer.geoPoint(point)
    return true
  }

  private func reference(_ range: Range<Int>, into writer: inout RecordWriter) -> Bool {
    let name = bytes.extracting(range)
    guard let (project, database, path) = ResourceName.parts(of: name) else { return false }
    return writer.reference(
      project: name.extracting(project), database: name.extracting(database), path: name.extracting(path))
  }
}

// Writes fields as protobuf, from the last byte to the first one.
//
// A record is written straight from its bytes. A tree of values is written in the same way. The encoding is
// the one that all writers of protobuf produce: entries in the order of the names, no default values.

import ByteStore
import DocumentStore

/// Writes fields and values in front of what a buffer contains.
struct ProtobufFieldsWriter: ~Copyable {
  private var buffer: BackwardBuffer
  /// False once a record turned out to be damaged.
  private(set) var isWhole = true

  init() { buffer = BackwardBuffer() }

  /// Returns everything that was written.
  consuming func finish() -> BackwardBuffer { buffer }

  /// Prepends the fields as entries of a map in a message. `tag` is the tag of the map's field.
  mutating func prepend(_ fields: StoredMap, tag: UInt32) {
    let isWritten: Void? = fields.withRecordFields { map in prepend(map, tag: tag) }
    if isWritten == nil { prepend(entries: fields.entries, tag: tag) }
  }

  // MARK: Records

  private mutating func prepend(_ map: borrowing MapView, tag: UInt32) {
    let isWhole = map.forEachFieldBackwards { name, value in
      let end = buffer.count
      prepend(value)
      buffer.prependEntry(tag, name: name.bytes, valueSince: end)
    }
    if !isWhole { self.isWhole = false }
  }

  private mutating func prepend(_ value: borrowing ValueView) {
    switch value.kind {
    case .null: prependNull()
    case .boolean: prepend(boolean: value.boolean == true)
    case .integer: prepend(integer: value.integer ?? 0)
    case .double: prepend(double: value.double ?? 0)
    case .timestamp:
      if let time = value.timestamp { prepend(time) } else { isWhole = false }
    case .text: _ = value.withText { prepend(sized: $0.bytes, tag: 0x8A) }
    case .bytes: _ = value.withBytes { prepend(sized: $0, tag: 0x92) }
    case .reference: prepend(reference: value)
    case .geoPoint:
      if let (latitude, longitude) = value.geoPoint { prepend(latitude: latitude, longitude: longitude) }
    case .array: prepend(array: value)
    case .vector:
      _ = value.withVector { elements in
        prependVector(count: elements.byteCount / 8) { elements.littleEndianWord(8 &* $0) }
      }
    case .map:
      let end = buffer.count
      let isWritten: Void? = value.withMap { prepend($0, tag: 0x0A) }
      if isWritten == nil { isWhole = false }
      buffer.prependSize(since: end)
      buffer.prepend(0x32)
    }
  }

  private mutating func prepend(array value: borrowing ValueView) {
    let end = buffer.count
    let isWhole = value.forEachElementBackwards { element in
      let end = buffer.count
      prepend(element)
      buffer.prependSize(since: end)
      buffer.prepend(0x0A)
    }
    if !isWhole { self.isWhole = false }
    buffer.prependSize(since: end)
    buffer.prepend(0x4A)
  }

  private mutating func prepend(reference value: borrowing ValueView) {
    let end = buffer.count
    let isWritten: Void? = value.withReference { project, database, path in
      buffer.prepend(path)
      buffer.prepend(text: "/documents/")
      buffer.prepend(database)
      buffer.prepend(text: "/databases/")
      buffer.prepend(project)
      buffer.prepend(text: "projects/")
    }
    if isWritten == nil { isWhole = false }
    buffer.prependSize(since: end)
    buffer.prepend(0x2A)
  }

  // MARK: Trees

  private mutating func prepend(entries: [StoredMap.Entry], tag: UInt32) {
    for (name, value) in entries.reversed() {
      let end = buffer.count
      prepend(value)
      var name = name
      name.withUTF8 { name in
        let name = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name))
        buffer.prependEntry(tag, name: name, valueSince: end)
      }
    }
  }

  /// Prepends the content of a value, without a tag or a size in front.
  mutating func prepend(_ value: StoredValue) {
    switch value {
    // A pending time has no value that another process may see.
    case .null, .pendingTimestamp: prependNull()
    case .boolean(let value): prepend(boolean: value)
    case .integer(let value): prepend(integer: value)
    case .double(let value): prepend(double: value)
    case .timestamp(let value): prepend(value)
    case .string(var text):
      text.withUTF8 { prepend(sized: unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0)), tag: 0x8A) }
    case .bytes(let bytes): prepend(sized: bytes.rawSpan, tag: 0x92)
    case .reference(let reference): prepend(reference)
    case .geoPoint(let point): prepend(latitude: point.latitude, longitude: point.longitude)
    case .array(let elements):
      let end = buffer.count
      for element in elements.reversed() {
        let end = buffer.count
        prepend(element)
        buffer.prependSize(since: end)
        buffer.prepend(0x0A)
      }
      buffer.prependSize(since: end)
      buffer.prepend(0x4A)
    case .vector(let elements): prependVector(count: elements.count) { elements[$0].bitPattern }
    case .map(let fields):
      let end = buffer.count
      prepend(fields, tag: 0x0A)
      buffer.prependSize(since: end)
      buffer.prepend(0x32)
    }
  }

  private mutating func prepend(_ reference: StoredReference) {
    let end = buffer.count
    buffer.prepend(utf8: reference.path.segments.joined(separator: "/"))
    buffer.prepend(text: "/documents/")
    buffer.prepend(utf8: reference.databaseID)
    buffer.prepend(text: "/databases/")
    buffer.prepend(utf8: reference.projectID)
    buffer.prepend(text: "projects/")
    buffer.prependSize(since: end)
    buffer.prepend(0x2A)
  }

  // MARK: Single values

  @inline(__always)
  private mutating func prependNull() {
    buffer.prepend(0)
    buffer.prepend(0x58)
  }

  @inline(__always)
  private mutating func prepend(boolean: Bool) {
    buffer.prepend(boolean ? 1 : 0)
    buffer.prepend(0x08)
  }

  @inline(__always)
  private mutating func prepend(integer: Int64) {
    buffer.prepend(varint: UInt64(bitPattern: integer))
    buffer.prepend(0x10)
  }

  @inline(__always)
  private mutating func prepend(double: Double) {
    buffer.prepend(word: double.bitPattern)
    buffer.prepend(0x19)
  }

  /// Strings and bytes, whose tags have a second byte.
  @inline(__always)
  private mutating func prepend(sized span: RawSpan, tag: UInt8) {
    buffer.prepend(span)
    buffer.prepend(varint: UInt64(truncatingIfNeeded: span.byteCount))
    buffer.prepend(1)
    buffer.prepend(tag)
  }

  private mutating func prepend(_ time: StoredTimestamp) {
    let end = buffer.count
    let (seconds, nanos) = (time.seconds, time.nanoseconds)
    if nanos != 0 {
      buffer.prepend(varint: UInt64(nanos))
      buffer.prepend(0x10)
    }
    if seconds != 0 {
      buffer.prepend(varint: UInt64(bitPattern: seconds))
      buffer.prepend(0x08)
    }
    buffer.prependSize(since: end)
    buffer.prepend(0x52)
  }

  private mutating func prepend(latitude: Double, longitude: Double) {
    let end = buffer.count
    // Only the positive zero is a default value.
    if longitude.bitPattern != 0 {
      buffer.prepend(word: longitude.bitPattern)
      buffer.prepend(0x11)
    }
    if latitude.bitPattern != 0 {
      buffer.prepend(word: latitude.bitPattern)
      buffer.prepend(0x09)
    }
    buffer.prependSize(since: end)
    buffer.prepend(0x42)
  }

  /// A vector is a map with a type and an array of doubles.
  private mutating func prependVector(count: Int, _ element: (Int) -> UInt64) {
    let end = buffer.count
    for index in (0..<count).reversed() {
      buffer.prepend(word: element(index))
      buffer.prepend(0x19)
      buffer.prepend(9)
      buffer.prepend(0x0A)
    }
    buffer.prependSize(since: end)
    buffer.prepend(0x4A)
    buffer.prependSize(since: end)
    buffer.prepend(text: "\u{0A}\u{05}value\u{12}")
    buffer.prependSize(since: end)
    buffer.prepend(0x0A)
    buffer.prepend(text: "__vector__")
    buffer.prepend(10)
    buffer.prepend(1)
    buffer.prepend(0x8A)
    buffer.prepend(text: "\u{0A}\u{19}\u{0A}\u{08}__type__\u{12}\u{0D}")
    buffer.prependSize(since: end)
    buffer.prepend(0x32)
  }
}

extension BackwardBuffer {
  mutating func prepend(text: StaticString) {
    text.withUTF8Buffer { prepend(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0))) }
  }
}

// Replaces scalars of a checked record: the usual update.
//
// One pass copies the record and writes the new values in their places. Its size is the old size plus the
// differences, so the limits need not be checked again. All other patches are a `RecordPatch`.

import ByteStore
import Libc

struct ScalarPatch {
  /// The record after the changes.
  let record: CheckedRecord
  /// Whether all new values equal the old ones.
  let isUnchanged: Bool

  /// Nil if the patch is not of this kind: a field does not exist yet, or a new value is not a scalar. Nil
  /// also if the record has maps with names, if a limit may be exceeded, or if the numbers in the table get
  /// another width. `fields` must be in name order.
  init?(
    _ base: CheckedRecord, _ fields: [StoredMap.Entry], created: StoredTimestamp, updated: StoredTimestamp
  ) {
    guard let room = Self.room(for: fields) else { return nil }
    var written: Written?
    let (bytes, shapes) = (base.bytes, base.shapes.bytes)
    // Starts with zeros, so that no byte is ever uninitialized.
    var patched = [UInt8](repeating: 0, count: bytes.count + room)
    unsafe patched.withUnsafeMutableBytes { buffer in
      written = Pass.run(
        base, bytes.rawSpan, shapes: shapes.rawSpan, output: unsafe PatchOutput(buffer),
        changes: Changes(fields: fields, created: created, updated: updated))
    }
    guard let written else { return nil }
    patched.removeLast(patched.count - written.bytes)
    isUnchanged = written.isUnchanged
    record = CheckedRecord(
      trusted: patched, base.shapes, fieldsStart: written.fieldsStart, checkedSize: written.size)
  }

  private struct Written {
    let bytes: Int
    let fieldsStart: Int
    /// Firestore's size of the fields.
    let size: Int
    let isUnchanged: Bool
  }

  /// Upper limit of the bytes that the record grows by; nil if a value is not a scalar.
  private static func room(for fields: [StoredMap.Entry]) -> Int? {
    // The head has up to 10 bytes more. A number is written as a word.
    var room = 32
    for place in fields.indices {
      switch fields[place].value {
      case .null, .boolean, .integer, .double, .timestamp: room += 16
      case .string(let text): room += text.utf8.count + 16
      case .bytes, .reference, .geoPoint, .vector, .array, .map, .pendingTimestamp: return nil
      }
    }
    return room
  }

  private struct Changes {
    let fields: [StoredMap.Entry]
    let created: StoredTimestamp
    let updated: StoredTimestamp
  }

  private struct Pass {
    var output: PatchOutput
    var isUnchanged = true
    var fieldsStart = 0
    /// Firestore's size of the fields.
    var size: Int

    static func run(
      _ base: CheckedRecord, _ bytes: RawSpan, shapes: RawSpan, output: PatchOutput, changes: Changes
    ) -> Written? {
      let start = base.fieldsStart
      guard
        let layout = RecordLayout(mapIn: bytes, from: start, to: bytes.byteCount, shapes: shapes),
        layout.shape > 0
      else { return nil }
      var measure = RecordMeasure(bytes, shapes: shapes)
      guard measure.add(map: start..<bytes.byteCount, depth: 0), !measure.hasNames else { return nil }
      var pass = Pass(output: output, size: measure.size)
      pass.output.appendHead(created: changes.created, updated: changes.updated)
      pass.fieldsStart = pass.output.count
      pass.output.append(bytes.extracting(start..<layout.first))
      guard pass.replace(changes.fields, layout, bytes: bytes, shapes: shapes),
        pass.size <= FieldLimits.valueBytesMax
      else { return nil }
      return Written(
        bytes: pass.output.count, fieldsStart: pass.fieldsStart, size: pass.size,
        isUnchanged: pass.isUnchanged)
    }

    private mutating func replace(
      _ fields: [StoredMap.Entry], _ layout: RecordLayout, bytes: RawSpan, shapes: RawSpan
    ) -> Bool {
      let table = output.count - (layout.first - layout.table)
      let lengthMax = layout.width == 1 ? 0xFF : layout.width == 2 ? 0xFFFF : Int(Int32.max)
      var copied = layout.first
      for place in fields.indices {
        guard let slot = ShapeBytes(shapes).slot(named: fields[place].name, layout.shape),
          let old = layout.range(ofValue: slot, in: bytes), old.lowerBound >= copied
        else { return false }
        output.append(bytes.extracting(copied..<old.lowerBound))
        copied = old.upperBound
        let start = output.count
        guard output.append(fields[place].value) else { return false }
        let length = output.count - start
        guard note(old: bytes.extracting(old), newFrom: start) else { return false }
        guard slot + 1 < layout.count else { continue }
        guard length <= lengthMax else { return false }
        output.set(length, at: table + slot * layout.width, width: layout.width)
      }
      output.append(bytes.extracting(copied..<layout.end))
      return layout.width == 1 || output.needs(layout.width, from: table, count: layout.count - 1)
    }

    /// Compares an old value with the new one and adds the difference of their sizes. Returns false if the
    /// old value is not a scalar.
    private mutating func note(old: RawSpan, newFrom start: Int) -> Bool {
      let (sizes, areSame) = output.withBytes(from: start) { new in
        (
          (old: RecordMeasure.size(ofScalar: old), new: RecordMeasure.size(ofScalar: new)),
          Self.areSame(old, new)
        )
      }
      guard let oldSize = sizes.old, let newSize = sizes.new else { return false }
      size += newSize - oldSize
      isUnchanged = isUnchanged && areSame
      return true
    }

    private static func areSame(_ old: RawSpan, _ new: RawSpan) -> Bool {
      old.isSame(as: new) || isNaN(old) && isNaN(new)
    }

    private static func isNaN(_ value: RawSpan) -> Bool {
      value.byte(at: 0) == RecordCodec.Tag.double.rawValue
        && Double(bitPattern: value.extracting(droppingFirst: 1).doubleBits).isNaN
    }
  }
}

/// A buffer of fixed capacity that a record is written into.
///
/// Bounds: each append checks the capacity. The buffer outlives this value, because an array lends it for
/// the time of the pass.
@safe
private struct PatchOutput {
  private let buffer: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ buffer: UnsafeMutableRawBufferPointer) { unsafe self.buffer = buffer }

  @inline(__always)
  private mutating func reserve(_ bytes: Int) -> UnsafeMutableRawPointer {
    precondition(unsafe bytes <= buffer.count - count, "the capacity covers the whole record")
    return unsafe buffer.baseAddress! + count
  }

  mutating func append(_ span: RawSpan) {
    let target = unsafe reserve(span.byteCount)
    unsafe span.withUnsafeBytes { source in
      if let start = source.baseAddress { unsafe memcpy(target, start, source.count) }
    }
    count += span.byteCount
  }

  /// Appends a tag and the lowest bytes of a number.
  @inline(__always)
  private mutating func append(tag: RecordCodec.Tag, lowest bytes: Int = 0, of number: UInt64 = 0) {
    let target = unsafe reserve(9)
    unsafe target.storeBytes(of: tag.rawValue, as: UInt8.self)
    unsafe (target + 1).storeBytes(of: number.littleEndian, as: UInt64.self)
    count += 1 + bytes
  }

  mutating func appendHead(created: StoredTimestamp, updated: StoredTimestamp) {
    let difference = updated.microseconds - created.microseconds
    let target = unsafe reserve(19)
    let form = difference == 0 ? RecordCodec.unchangedForm : RecordCodec.changedForm
    unsafe target.storeBytes(of: form, as: UInt8.self)
    unsafe (target + 1).storeBytes(of: created.microseconds.littleEndian, as: Int64.self)
    count += 9
    guard difference != 0 else { return }
    var rest = Zigzag.encode(difference)
    while rest >= 0x80 {
      unsafe buffer.storeBytes(
        of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
      count += 1
      rest >>= 7
    }
    unsafe buffer.storeBytes(of: UInt8(rest), toByteOffset: count, as: UInt8.self)
    count += 1
  }

  /// Appends a scalar with its tag. Returns false for other values.
  mutating func append(_ value: StoredValue) -> Bool {
    switch value {
    case .null: append(tag: .null)
    case .boolean(let value): append(tag: value ? .true : .false)
    case .integer(let value): append(tag: .integer, lowest: value.recordBytes, of: UInt64(bitPattern: value))
    case .double(let value):
      let bytes = value.recordBytes
      append(tag: .double, lowest: bytes, of: bytes > 0 ? value.bitPattern >> UInt64(64 - 8 * bytes) : 0)
    case .timestamp(let value):
      let time = value.microseconds
      append(tag: .timestamp, lowest: time.recordBytes, of: UInt64(bitPattern: time))
    case .string(var text):
      append(tag: .string)
      text.withUTF8 { append(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0))) }
    case .bytes, .reference, .geoPoint, .vector, .array, .map, .pendingTimestamp: return false
    }
    return true
  }

  /// Sets a number of a table that was appended before.
  mutating func set(_ number: Int, at offset: Int, width: Int) {
    precondition(offset >= 0 && offset + width <= count, "a table is written before its numbers")
    for byte in 0..<width {
      unsafe buffer.storeBytes(
        of: UInt8(truncatingIfNeeded: number >> (8 * byte)), toByteOffset: offset + byte, as: UInt8.self)
    }
  }

  /// Whether a number of the table needs this width.
  func needs(_ width: Int, from table: Int, count: Int) -> Bool {
    let narrowMax = width == 2 ? 0xFF : 0xFFFF
    return withBytes(from: table) { bytes in
      (0..<count).contains { bytes.number(at: $0 * width, width: width) > narrowMax }
    }
  }

  /// Calls `body` with the bytes from an offset to the end.
  @inline(__always)
  func withBytes<Result>(from offset: Int, _ body: (RawSpan) -> Result) -> Result {
    body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[offset..<count])))
  }
}

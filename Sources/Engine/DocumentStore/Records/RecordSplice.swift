// Writes a record whose fields are ranges of two other records and encoded values.

import ByteStore

struct RecordSplice: ~Copyable {
  /// A value of the new record.
  private struct Piece {
    let origin: Origin
    let range: Range<Int>
  }

  private enum Origin { case base, source, encoded }

  private let base: CheckedRecord
  private let source: CheckedRecord?
  private let dictionary: ShapeDictionary
  /// The values that were not encoded before.
  private var encoded: [UInt8] = []
  /// The values in name order.
  private var pieces: [Piece] = []
  /// Whether the base's shapes include all shapes that the record uses.
  private var hasShapesOfBase = true

  /// `count` is the expected number of fields.
  init(base: CheckedRecord, source: CheckedRecord?, dictionary: ShapeDictionary, count: Int) {
    self.base = base
    self.source = source
    self.dictionary = dictionary
    pieces.reserveCapacity(count)
  }

  // MARK: Values

  /// Appends a value of the base.
  mutating func append(kept range: Range<Int>, tag: UInt8) {
    guard RecordShapes.isContainer(tag), base.hasNames(inValue: range), let value = base.value(in: range)
    else { return pieces.append(Piece(origin: .base, range: range)) }
    append(value)
  }

  /// Appends a value of the source.
  mutating func append(new range: Range<Int>) {
    guard let source else { return }
    guard RecordShapes.isContainer(source.bytes[range.lowerBound]) else {
      return pieces.append(Piece(origin: .source, range: range))
    }
    hasShapesOfBase = false
    if source.hasNames(inValue: range), let value = source.value(in: range) { return append(value) }
    pieces.append(Piece(origin: .source, range: range))
  }

  /// Appends a value that is not encoded yet.
  mutating func append(_ value: StoredValue) {
    let start = encoded.count
    if !encoded.append(scalar: value) {
      hasShapesOfBase = false
      var encoder = RecordEncoder(shapes: dictionary)
      let range = encoder.append(value: value)
      encoded.append(copying: encoder.bytes.rawSpan.extracting(range))
    }
    pieces.append(Piece(origin: .encoded, range: start..<encoded.count))
  }

  // MARK: Record

  /// The record with these values. `names` are needed only if the fields have no shape.
  func record(
    shape: Int?, names: [String], created: StoredTimestamp, updated: StoredTimestamp
  ) -> CheckedRecord {
    let (numbers, partBytes) = shape == nil ? offsets(names) : lengths
    let largest = numbers.max() ?? 0
    let code = largest > 0xFFFF ? 2 : largest > 0xFF ? 1 : 0
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32 + numbers.count << code + partBytes)
    bytes.appendHead(created: created, updated: updated)
    let fieldsStart = bytes.count
    bytes.append(varint: UInt64((shape.map { $0 + 1 } ?? 0) << 2 | code))
    if shape == nil { bytes.append(varint: UInt64(pieces.count)) }
    for number in numbers { bytes.append(lowest: 1 << code, of: UInt64(number)) }
    if shape == nil { appendEntries(names, to: &bytes) } else { appendValues(to: &bytes) }
    let hasAllShapes = hasShapesOfBase && (shape.map(base.shapes.contains) ?? true)
    let table = hasAllShapes ? base.shapes : dictionary.table
    return CheckedRecord(trusted: bytes, table, fieldsStart: fieldsStart, checkedSize: nil)
  }

  /// The lengths of all values but the last, and the size of all values.
  private var lengths: (numbers: [Int], bytes: Int) {
    var total = 0
    var lengths: [Int] = []
    lengths.reserveCapacity(pieces.count)
    for piece in pieces {
      lengths.append(piece.range.count)
      total += piece.range.count
    }
    if !lengths.isEmpty { lengths.removeLast() }
    return (lengths, total)
  }

  /// The offsets of all entries but the first, and the size of all entries.
  private func offsets(_ names: [String]) -> (numbers: [Int], bytes: Int) {
    var total = 0
    var offsets: [Int] = []
    for (index, piece) in pieces.enumerated() {
      if index > 0 { offsets.append(total) }
      let name = names[index].utf8.count
      total += (name < 0x80 ? 1 : name < 0x4000 ? 2 : 3) + name + piece.range.count
    }
    return (offsets, total)
  }

  private func appendEntries(_ names: [String], to bytes: inout [UInt8]) {
    for (index, piece) in pieces.enumerated() {
      bytes.append(varint: UInt64(names[index].utf8.count))
      bytes.append(utf8: names[index])
      append(piece.range, of: piece.origin, to: &bytes)
    }
  }

  /// Copies adjacent values of one record together.
  private func appendValues(to bytes: inout [UInt8]) {
    guard var run = pieces.first else { return }
    for piece in pieces.dropFirst() {
      if piece.origin == run.origin, piece.range.lowerBound == run.range.upperBound {
        run = Piece(origin: run.origin, range: run.range.lowerBound..<piece.range.upperBound)
      } else {
        append(run.range, of: run.origin, to: &bytes)
        run = piece
      }
    }
    append(run.range, of: run.origin, to: &bytes)
  }

  private func append(_ range: Range<Int>, of origin: Origin, to bytes: inout [UInt8]) {
    let from: [UInt8]? =
      switch origin {
      case .base: base.bytes
      case .source: source?.bytes
      case .encoded: encoded
      }
    if let from { bytes.append(copying: from.rawSpan.extracting(range)) }
  }
}

extension CheckedRecord {
  fileprivate func hasNames(inValue range: Range<Int>) -> Bool {
    withSpans { bytes, shapes in RecordShapes(bytes, shapes: shapes).hasNames(inValue: range) }
  }
}

extension ShapeTable {
  fileprivate func contains(_ id: Int) -> Bool { shapes.indices.contains(id) && shapes[id] != nil }
}

extension [UInt8] {
  /// Appends a value of the most frequent types, with its tag. Returns false for the other types.
  fileprivate mutating func append(scalar value: StoredValue) -> Bool {
    switch value {
    case .null: append(RecordCodec.Tag.null.rawValue)
    case .boolean(let value): append((value ? RecordCodec.Tag.true : .false).rawValue)
    case .integer(let value):
      append(RecordCodec.Tag.integer.rawValue)
      append(lowest: value.recordBytes, of: UInt64(bitPattern: value))
    case .double(let value):
      append(RecordCodec.Tag.double.rawValue)
      let count = value.recordBytes
      append(lowest: count, of: count > 0 ? value.bitPattern >> UInt64(64 - 8 * count) : 0)
    case .timestamp(let value):
      append(RecordCodec.Tag.timestamp.rawValue)
      append(lowest: value.microseconds.recordBytes, of: UInt64(bitPattern: value.microseconds))
    case .string(let value):
      append(RecordCodec.Tag.string.rawValue)
      append(utf8: value)
    case .bytes, .reference, .geoPoint, .vector, .array, .map, .pendingTimestamp: return false
    }
    return true
  }
}

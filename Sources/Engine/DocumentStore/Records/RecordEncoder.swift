// Encodes documents as records, and collects the shapes that the records of a commit use.

import ByteStore

struct RecordEncoder {
  private let shapes: ShapeDictionary?
  /// The records so far, one after another.
  private(set) var bytes: [UInt8]
  /// The shapes of all records so far.
  private(set) var used: Set<Int> = []
  /// A few of the used shapes, which are checked first. Most maps of a commit have one of a few shapes.
  private var lastUsed = SIMD4<Int32>(repeating: -1)
  private var nextLastUsed = 0

  /// `room` is the buffer for the records. The encoder of the next commit can reuse it.
  init(shapes: ShapeDictionary?, room: consuming [UInt8] = []) {
    self.shapes = shapes
    bytes = room
    bytes.removeAll(keepingCapacity: true)
    // Most records fit in this capacity, so the buffer need not grow step by step.
    bytes.reserveCapacity(512)
  }

  /// Appends the record of a document. Returns its range in `bytes`.
  mutating func append(_ document: StoredDocument) -> Range<Int> {
    append(createTime: document.createTime, updateTime: document.updateTime, fields: document.fields)
  }

  mutating func append(
    createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) -> Range<Int> {
    let start = bytes.count
    let difference = updateTime.microseconds - createTime.microseconds
    bytes.append(difference == 0 ? RecordCodec.unchangedForm : RecordCodec.changedForm)
    bytes.append(littleEndian: createTime.microseconds)
    if difference != 0 { bytes.append(varint: Zigzag.encode(difference)) }
    append(fields)
    return start..<bytes.count
  }

  // MARK: Maps and arrays

  private mutating func append(_ map: StoredMap) {
    guard let shape = shapes?.id(of: map) else { return appendWithNames(map) }
    noteUse(of: shape)
    // Use the buffer, because iterating over the array would retain and release each value.
    unsafe map.entries.withUnsafeBufferPointer { entries in
      appendParts(map.count, head: shape + 1, isByPlace: false) { encoder, index in
        unsafe encoder.append(entries[index].value)
      }
    }
  }

  private mutating func noteUse(of shape: Int) {
    guard !any(lastUsed .== Int32(shape)) else { return }
    used.insert(shape)
    lastUsed[nextLastUsed] = Int32(shape)
    nextLastUsed = (nextLastUsed + 1) % lastUsed.scalarCount
  }

  private mutating func appendWithNames(_ map: StoredMap) {
    appendParts(map.count, head: 0, isByPlace: true) { encoder, index in
      let (name, value) = map.entries[index]
      encoder.bytes.append(varint: UInt64(name.utf8.count))
      encoder.bytes.append(utf8: name)
      encoder.append(value)
    }
  }

  /// Appends the head, the table and the parts of a map or an array. The table has one byte per number at
  /// first. It is widened if a number needs more bytes.
  private mutating func appendParts(
    _ count: Int, head: Int, isByPlace: Bool, _ append: (inout Self, Int) -> Void
  ) {
    let start = bytes.count
    bytes.append(varint: UInt64(head) << 2)
    if isByPlace { bytes.append(varint: UInt64(count)) }
    var table = Table(start: bytes.count, count: max(count - 1, 0))
    bytes.append(zeros: table.count)
    for index in 0..<count {
      let partStart = bytes.count
      append(&self, index)
      guard index < table.count else { break }
      let number = bytes.count - (isByPlace ? table.end : partStart)
      let code = number > 0xFFFF ? 2 : number > 0xFF ? 1 : 0
      if code > table.code { table.widen(to: code, filled: index, in: &bytes) }
      table.set(number, at: index, in: &bytes)
    }
    bytes[start] |= UInt8(table.code)
  }

  private struct Table {
    let start: Int
    let count: Int
    private(set) var code = 0

    init(start: Int, count: Int) {
      self.start = start
      self.count = count
    }

    var end: Int { start + count << code }

    func set(_ number: Int, at index: Int, in bytes: inout [UInt8]) {
      for byte in 0..<1 << code { bytes[start + index << code + byte] = UInt8(number >> (8 * byte) & 0xFF) }
    }

    func number(at index: Int, in bytes: [UInt8]) -> Int {
      (0..<1 << code).reduce(0) { $0 | Int(bytes[start + index << code + $1]) << (8 * $1) }
    }

    mutating func widen(to code: Int, filled: Int, in bytes: inout [UInt8]) {
      let narrow = self
      bytes.insert(contentsOf: repeatElement(0, count: count << code - count << self.code), at: end)
      self.code = code
      for index in (0..<filled).reversed() { set(narrow.number(at: index, in: bytes), at: index, in: &bytes) }
    }
  }

  // MARK: Values

  private mutating func append(_ value: StoredValue) {
    switch value {
    case .null:
      begin(.null)
    case .boolean(let value):
      begin(value ? .true : .false)
    case .integer(let value):
      begin(.integer)
      append(value, bytes: value.recordBytes)
    case .double(let value):
      begin(.double)
      let count = value.recordBytes
      let bits = Int64(bitPattern: value.bitPattern)
      append(count > 0 ? bits >> Int64(64 - 8 * count) : 0, bytes: count)
    case .timestamp(let value):
      begin(.timestamp)
      append(value.microseconds, bytes: value.microseconds.recordBytes)
    case .pendingTimestamp(let time, let previous):
      begin(.pendingTimestamp)
      bytes.append(littleEndian: time.microseconds)
      if let previous { append(previous) }
    case .string(let value):
      begin(.string)
      bytes.append(utf8: value)
    case .bytes(let value):
      begin(.bytes)
      bytes.append(contentsOf: value)
    case .reference(let value):
      begin(.reference)
      append(sized: value.projectID)
      append(sized: value.databaseID)
      bytes.append(contentsOf: value.path.description.utf8)
    case .geoPoint(let value):
      begin(.geoPoint)
      bytes.append(littleEndian: value.latitude.bitPattern)
      bytes.append(littleEndian: value.longitude.bitPattern)
    case .array(let values):
      begin(.array)
      appendParts(values.count, head: values.count, isByPlace: false) { $0.append(values[$1]) }
    case .vector(let values):
      begin(.vector)
      for value in values { bytes.append(littleEndian: value.bitPattern) }
    case .map(let map):
      begin(.map)
      append(map)
    }
  }

  private mutating func begin(_ tag: RecordCodec.Tag) { bytes.append(tag.rawValue) }

  private mutating func append(_ number: Int64, bytes count: Int) {
    bytes.append(lowest: count, of: UInt64(bitPattern: number))
  }

  private mutating func append(sized text: String) {
    bytes.append(varint: UInt64(text.utf8.count))
    bytes.append(utf8: text)
  }
}

// A document as bytes for key-value stores: self-describing, as an expert would encode it, and read
// without allocations.
//
//   record = count u8, fields        field = length of its name u8, name, value
//   value  = tag u8, then: 1 integer i64 | 2 real f64 | 3 boolean u8 | 4 text: length u16, UTF-8
//            | 5 list: count u8, values | 6 map: count u8, fields | 7 timestamp i64

import SampleDocuments

/// Numbers are little-endian and unaligned.
enum PackedRecord {
  static func bytes(_ document: SampleDocument) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(400)
    append(document.fields, to: &bytes)
    return bytes
  }

  private static func append(_ fields: [SampleDocument.Field], to bytes: inout [UInt8]) {
    bytes.append(UInt8(fields.count))
    for field in fields {
      bytes.append(UInt8(field.name.utf8.count))
      bytes += field.name.utf8
      append(field.value, to: &bytes)
    }
  }

  private static func append(_ value: SampleDocument.Value, to bytes: inout [UInt8]) {
    func append(_ tag: UInt8, _ number: UInt64) {
      bytes.append(tag)
      withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }
    switch value {
    case .integer(let number): append(1, UInt64(bitPattern: Int64(number)))
    case .real(let number): append(2, number.bitPattern)
    case .boolean(let flag): bytes += [3, flag ? 1 : 0]
    case .text(let text):
      bytes.append(4)
      withUnsafeBytes(of: UInt16(text.utf8.count).littleEndian) { bytes += $0 }
      bytes += text.utf8
    case .list(let values):
      bytes += [5, UInt8(values.count)]
      for value in values { Self.append(value, to: &bytes) }
    case .map(let fields):
      bytes.append(6)
      Self.append(fields, to: &bytes)
    case .timestamp(let number): append(7, UInt64(bitPattern: Int64(number)))
    }
  }

  // MARK: Reading

  /// Returns `SampleDocument.weight`, after visiting every field.
  static func weight(_ record: UnsafeRawBufferPointer) -> Int {
    guard var pointer = record.baseAddress else { return 0 }
    return weight(fieldsAt: &pointer)
  }

  private static func weight(fieldsAt pointer: inout UnsafeRawPointer) -> Int {
    let count = Int(pointer.load(as: UInt8.self))
    pointer += 1
    var sum = 0
    for _ in 0..<count {
      pointer += 1 + Int(pointer.load(as: UInt8.self))
      sum &+= weight(valueAt: &pointer)
    }
    return sum
  }

  private static func weight(valueAt pointer: inout UnsafeRawPointer) -> Int {
    let tag = pointer.load(as: UInt8.self)
    pointer += 1
    switch tag {
    case 1, 7:
      defer { pointer += 8 }
      return Int(pointer.loadUnaligned(as: Int64.self))
    case 2:
      defer { pointer += 8 }
      return Int(pointer.loadUnaligned(as: Double.self))
    case 3:
      defer { pointer += 1 }
      return Int(pointer.load(as: UInt8.self))
    case 4:
      let count = Int(pointer.loadUnaligned(as: UInt16.self))
      defer { pointer += 2 + count }
      return count &+ (count > 0 ? Int((pointer + 2).load(as: UInt8.self)) : 0)
    case 5:
      let count = Int(pointer.load(as: UInt8.self))
      pointer += 1
      var sum = 0
      for _ in 0..<count { sum &+= weight(valueAt: &pointer) }
      return sum
    default: return weight(fieldsAt: &pointer)
    }
  }

  /// Returns the position of the bytes of `score`. The search goes from field to field, as a read does.
  static func offsetOfScore(_ record: UnsafeRawBufferPointer) -> Int? {
    guard let start = record.baseAddress else { return nil }
    var pointer = start
    let count = Int(pointer.load(as: UInt8.self))
    pointer += 1
    for _ in 0..<count {
      let length = Int(pointer.load(as: UInt8.self))
      let isScore = length == 5 && (pointer + 1).load(as: UInt8.self) == UInt8(ascii: "s")
      pointer += 1 + length
      if isScore { return pointer - start + 1 }
      _ = weight(valueAt: &pointer)
    }
    return nil
  }
}

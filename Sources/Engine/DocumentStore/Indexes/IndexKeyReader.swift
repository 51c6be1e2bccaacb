// Iterates over the values of an index key, which IndexKey.swift encodes.

import ByteStore

struct IndexKeyReader: ~Escapable {
  /// A number in the form in which keys encode it: a double and, for an integer, the integer minus that
  /// double.
  struct Number: Equatable {
    var double: Double
    var rest: UInt16

    func value(_ kind: NumberCounts.Kind) -> StoredValue {
      guard kind == .integers, let floor = Int64(exactly: double) else { return .double(double) }
      return .integer(floor &+ Int64(rest))
    }
  }

  enum Value: Equatable {
    case number(Number)
    case other
  }

  private let bytes: RawSpan
  private var offset: Int
  /// The mask that inverts the bytes of a descending value.
  private var mask: UInt8 = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, from offset: Int) {
    self.bytes = bytes
    self.offset = offset
  }

  /// Reads one value; nil at the end or if the key is invalid.
  mutating func next(_ direction: OrderBy.Direction) -> Value? {
    mask = direction == .ascending ? 0 : 0xFF
    return value()
  }

  private mutating func value() -> Value? {
    guard let tag = byte() else { return nil }
    switch tag {
    case 0x10, 0x20, 0x21: return .other
    case IndexKey.number: return number().map { .number($0) }
    case IndexKey.timestamp, IndexKey.pendingTimestamp: return skip(8)
    case IndexKey.text, 0x60: return text()
    case 0x70: return text() == nil || text() == nil ? nil : path()
    case 0x80: return skip(16)
    case 0x90:
      while peek() != 0 { guard value() != nil else { return nil } }
      return skip(1)
    case 0xA0:
      guard let count = uint64(), count <= UInt64(bytes.byteCount) else { return nil }
      return skip(8 * Int(count))
    case 0xB0:
      while true {
        switch byte() {
        case 0: return .other
        case 1: guard text() != nil, value() != nil else { return nil }
        default: return nil
        }
      }
    default: return nil
    }
  }

  private mutating func number() -> Number? {
    guard let bits = uint64() else { return nil }
    let double = Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
    guard (0x1p53...0x1p63).contains(double.magnitude) else { return Number(double: double, rest: 0) }
    guard let high = byte(), let low = byte() else { return nil }
    return Number(double: double, rest: UInt16(high) << 8 | UInt16(low))
  }

  private mutating func text() -> Value? {
    while let next = byte() {
      guard next == 0 else { continue }
      switch byte() {
      case 0xFF: continue
      case 1: return .other
      default: return nil
      }
    }
    return nil
  }

  /// Reads the key of a document, including its keyspace byte.
  private mutating func path() -> Value? {
    guard byte() != nil else { return nil }
    while true {
      switch byte() {
      case 0: return .other
      case 1: guard skip(8) != nil else { return nil }
      case 2: guard text() != nil else { return nil }
      default: return nil
      }
    }
  }

  private func peek() -> UInt8? { offset < bytes.byteCount ? bytes.byte(at: offset) ^ mask : nil }

  private mutating func byte() -> UInt8? {
    guard let byte = peek() else { return nil }
    offset += 1
    return byte
  }

  private mutating func uint64() -> UInt64? {
    var number: UInt64 = 0
    for _ in 0..<8 {
      guard let byte = byte() else { return nil }
      number = number << 8 | UInt64(byte)
    }
    return number
  }

  private mutating func skip(_ count: Int) -> Value? {
    guard count <= bytes.byteCount - offset else { return nil }
    offset += count
    return .other
  }
}

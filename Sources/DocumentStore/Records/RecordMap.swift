// Maps and arrays within the bytes of a record that was checked: a field is found by bisection, and what
// nobody asks for is never decoded.

import ByteStore

/// A map within a record.
package struct RecordMap: Sendable {
  private let bytes: [UInt8]
  private let start: Int
  package let count: Int

  /// `bytes` are a record that was checked, and have a map at `start`.
  init(checked bytes: [UInt8], at start: Int) {
    self.bytes = bytes
    self.start = start
    count = bytes.uint32(at: start)
  }

  package func name(at index: Int) -> String { String(decoding: bytes[nameRange(at: index)], as: UTF8.self) }

  package func value(at index: Int) -> RecordValue {
    RecordValue(checked: bytes, at: nameRange(at: index).upperBound)
  }

  package subscript(name: String) -> RecordValue? { position(of: name).map(value) }

  /// By bisection.
  package func position(of name: String) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = compareName(at: middle, to: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// Negative, zero or positive, as the name's bytes come before, are, or come after the others.
  package func compareName(at index: Int, to name: String) -> Int {
    bytes.rawSpan.extracting(nameRange(at: index)).compare(with: name)
  }

  private func nameRange(at index: Int) -> Range<Int> {
    let entry = start + bytes.uint32(at: start + 4 + 4 * index)
    let size = Int(bytes[entry]) | Int(bytes[entry + 1]) << 8
    return entry + 2..<entry + 2 + size
  }
}

/// A value within a record.
package struct RecordValue: Sendable {
  private let bytes: [UInt8]
  private let start: Int
  private let tag: RecordCodec.Tag

  init(checked bytes: [UInt8], at start: Int) {
    self.bytes = bytes
    self.start = start
    tag = RecordCodec.Tag(rawValue: bytes[start]) ?? .null
  }

  /// All of it, decoded.
  package var stored: StoredValue {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.skip(start), let value = try? RecordCodec.decodeValue(&reader, depth: 0) else {
      return .null
    }
    return value
  }

  package var string: String? {
    guard tag == .string else { return nil }
    return String(decoding: bytes[start + 5..<start + 5 + bytes.uint32(at: start + 1)], as: UTF8.self)
  }

  package var integer: Int64? { tag == .integer ? Int64(bitPattern: word) : nil }

  package var double: Double? { tag == .double ? Double(bitPattern: word) : nil }

  package var boolean: Bool? {
    switch tag {
    case .true: true
    case .false: false
    default: nil
    }
  }

  package var isNull: Bool { tag == .null }

  /// Nil unless it is a map.
  package var map: RecordMap? { tag == .map ? RecordMap(checked: bytes, at: start + 5) : nil }

  /// Nil unless it is an array.
  package var elements: [RecordValue]? {
    guard tag == .array else { return nil }
    var elements: [RecordValue] = []
    let count = bytes.uint32(at: start + 5)
    elements.reserveCapacity(count)
    var next = start + 9
    for _ in 0..<count {
      let element = RecordValue(checked: bytes, at: next)
      elements.append(element)
      next = element.end
    }
    return elements
  }

  private var end: Int {
    switch tag {
    case .null, .false, .true: return start + 1
    case .integer, .double, .timestamp: return start + 9
    case .geoPoint: return start + 17
    case .string, .bytes, .array, .map: return start + 5 + bytes.uint32(at: start + 1)
    case .vector: return start + 5 + 8 * bytes.uint32(at: start + 1)
    case .reference:
      var end = start + 1
      for _ in 0..<3 { end += 4 + bytes.uint32(at: end) }
      return end
    }
  }

  private var word: UInt64 {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.skip(start + 1), let word = reader.uint64() else { return 0 }
    return word
  }
}

extension [UInt8] {
  fileprivate func uint32(at offset: Int) -> Int {
    Int(self[offset]) | Int(self[offset + 1]) << 8 | Int(self[offset + 2]) << 16 | Int(self[offset + 3]) << 24
  }
}

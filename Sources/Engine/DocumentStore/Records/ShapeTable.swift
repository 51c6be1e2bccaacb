// The shapes of a database, as readers see them: a shape is the names of a map, in the order of their bytes.

import ByteStore

/// The names of a map.
struct Shape: Sendable {
  static let namesMax = 256
  static let nameBytesMax = 16 << 10

  let id: Int
  let fieldNames: FieldNames
  var names: [String] { fieldNames.names }
  /// Where each is among them. A dictionary of a map's fields is made of this one, without hashing any name. As in one
  /// that is filled in this order, of names that Swift takes for the same the last one counts.
  let places: [String: Int]

  var nameBytes: Int { names.reduce(0) { $0 + $1.utf8.count } }

  func isOf(_ map: StoredMap) -> Bool {
    guard names.count == map.count else { return false }
    // Names in arrays would be counted as referred to, each for itself.
    return unsafe names.withUnsafeBufferPointer { names in
      unsafe map.entries.withUnsafeBufferPointer { entries in
        for place in names.indices {
          guard unsafe names[place].isSameUTF8(as: entries.name(at: place).pointee) else { return false }
        }
        return true
      }
    }
  }

  // MARK: As it is stored
  //
  //   key        := 0x01 id:u16-big-endian
  //   definition := names:varint (bytes:varint name){names}

  /// Of all shapes. No document has such a key.
  static let keyspace: UInt8 = 0x01
  /// Higher ids are never given out: what is lost in a salvage is not used again, and all can be looked for.
  static let idMax = 8191

  static func key(_ id: Int) -> [UInt8] { [keyspace, UInt8(id >> 8), UInt8(id & 0xFF)] }

  /// Nil for a key that is none of a shape.
  static func id(of key: RawSpan) -> Int? {
    key.byteCount == 3 && key.byte(at: 0) == keyspace ? Int(key.byte(at: 1)) << 8 | Int(key.byte(at: 2)) : nil
  }

  var definition: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(names.count))
    for name in names {
      bytes.append(varint: UInt64(name.utf8.count))
      bytes.append(contentsOf: name.utf8)
    }
    return bytes
  }

  init(id: Int, names: [String]) {
    self.id = id
    fieldNames = FieldNames(names)
    places = Dictionary(zip(names, names.indices)) { _, last in last }
  }

  /// Nil for bytes that define no shape.
  init?(id: Int, definition: RawSpan) {
    guard let (count, start) = definition.varint(at: 0, before: definition.byteCount),
      (1...Self.namesMax).contains(count)
    else { return nil }
    var names: [String] = []
    names.reserveCapacity(count)
    var next = start
    for _ in 0..<count {
      guard let (size, start) = definition.varint(at: next, before: definition.byteCount),
        size <= RecordCodec.nameBytesMax, size <= definition.byteCount - start,
        let name = String(record: definition.extracting(start..<start + size)),
        names.last.map({ $0.precedesInUTF8(name) }) ?? true
      else { return nil }
      names.append(name)
      next = start + size
    }
    guard next == definition.byteCount else { return nil }
    self.init(id: id, names: names)
    guard nameBytes <= Self.nameBytesMax else { return nil }
  }
}

/// All shapes at one moment. A record is read with a table that was taken after it, or at the same time: shapes
/// come and never go.
struct ShapeTable: Sendable {
  /// For records without shapes.
  static let empty = ShapeTable([], origin: nil)

  /// Tables of one database have the same.
  final class Origin: Sendable {}

  /// By id.
  let shapes: [Shape?]
  /// The same, for views (`ShapeBytes`).
  let bytes: [UInt8]
  let origin: Origin?

  init(_ shapes: [Shape?], origin: Origin?) {
    self.shapes = shapes
    self.origin = origin
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32(shapes.count))
    bytes.append(contentsOf: repeatElement(0, count: 4 * shapes.count))
    for case let shape? in shapes {
      bytes.overwrite(UInt32(bytes.count), at: 4 + 4 * shape.id)
      bytes.append(littleEndian: UInt32(shape.names.count))
      var end = 0
      for name in shape.names {
        end += name.utf8.count
        bytes.append(littleEndian: UInt32(end))
      }
      for name in shape.names { bytes.append(contentsOf: name.utf8) }
    }
    self.bytes = bytes
  }
}

extension String {
  /// Nil for bytes that are no UTF-8.
  init?(record bytes: RawSpan) {
    let text = unsafe bytes.withUnsafeBytes { bytes -> String? in
      #if canImport(Darwin)
      // What is below is there in the newest systems only.
      return unsafe String(validating: bytes, as: UTF8.self)
      #else
      // In a third of the time.
      guard let text = unsafe try? UTF8Span(validating: Span(_unsafeBytes: bytes)) else { return nil }
      return String(copying: text)
      #endif
    }
    guard let text else { return nil }
    self = text
  }
}

extension [UInt8] {
  mutating func overwrite(_ value: UInt32, at offset: Int) {
    for byte in 0..<4 { self[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte))) }
  }
}

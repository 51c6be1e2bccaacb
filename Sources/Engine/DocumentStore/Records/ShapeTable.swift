// The shapes of a database as readers see them.
//
// A shape is the list of a map's field names, sorted by bytes.

import ByteStore

/// The field names of a map. An object, so that a copy of all shapes is cheap: a new shape makes one.
final class Shape: Sendable {
  static let namesMax = 256
  static let nameBytesMax = 16 << 10

  let id: Int
  let fieldNames: FieldNames
  var names: [String] { fieldNames.names }
  /// The index of each name. A dictionary of a map's fields is built by copying this dictionary, which avoids
  /// hashing the names. If several names are canonically equivalent, the last one wins, as in a dictionary
  /// that is filled in order.
  let places: [String: Int]
  let slots: ShapeSlots

  var nameBytes: Int { names.reduce(0) { $0 + $1.utf8.count } }

  // MARK: Encoding
  //
  //   key        := 0x01 id:u16-big-endian
  //   definition := names:varint (bytes:varint name){names}

  /// The keyspace of shapes. No document has such a key.
  static let keyspace: UInt8 = 0x01
  /// Higher ids are never assigned, so all possible ids can be looked up. An id lost in a salvage is not
  /// reused.
  static let idMax = 8191

  static func key(_ id: Int) -> [UInt8] { [keyspace, UInt8(id >> 8), UInt8(id & 0xFF)] }

  /// Nil if the key does not belong to a shape.
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
    slots = ShapeSlots(id: id, names: names)
    places = Dictionary(zip(names, names.indices)) { _, last in last }
  }

  /// Nil if the bytes are not a valid definition, or if the id is one that no store assigns.
  convenience init?(id: Int, definition: RawSpan) {
    guard id <= Self.idMax, let (count, start) = definition.varint(at: 0, before: definition.byteCount),
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

/// All shapes of a database at one point in time. Shapes are only ever added, so a record can be read with
/// any table that was obtained together with the record or later.
struct ShapeTable: Sendable {
  /// The table for records without shapes.
  static let empty = ShapeTable(ShapeList(), origin: nil)

  /// Identifies the database. All tables of a database share one origin.
  final class Origin: Sendable {}

  private static let placesMin = 16

  /// By id.
  let shapes: ShapeList
  /// The shapes as `ShapeBytes`, for views.
  let bytes: [UInt8]
  let origin: Origin?

  init(_ shapes: ShapeList, origin: Origin?) {
    self.init(shapes, Self.emptyBytes(places: shapes.count), adding: shapes.compactMap { $0 }, origin: origin)
  }

  private init(_ shapes: ShapeList, _ bytes: [UInt8], adding new: [Shape], origin: Origin?) {
    self.shapes = shapes
    self.origin = origin
    var bytes = bytes
    bytes.reserveCapacity(bytes.count + new.reduce(0) { $0 + Self.bytes(of: $1) })
    for shape in new { Self.append(shape, to: &bytes) }
    self.bytes = bytes
  }

  /// This table with new shapes. `all` are its shapes and the new ones. Copies the bytes of the known shapes,
  /// instead of making them again for each new shape.
  func adding(_ new: [Shape], all: ShapeList) -> ShapeTable {
    guard all.count <= places else { return ShapeTable(all, origin: origin) }
    return ShapeTable(all, bytes, adding: new, origin: origin)
  }

  private var places: Int { ShapeBytes(bytes.rawSpan).number(at: 0) }

  /// The bytes of a table without shapes, in which about half of the places are for shapes to come.
  private static func emptyBytes(places count: Int) -> [UInt8] {
    var places = placesMin
    while places < count + count / 2 { places *= 2 }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32(places))
    bytes.append(contentsOf: repeatElement(0, count: 4 * places))
    return bytes
  }

  private static func bytes(of shape: Shape) -> Int { 8 + 4 * shape.names.count + shape.nameBytes }

  private static func append(_ shape: Shape, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt32(shape.slots.areUserNames ? shape.slots.nameSize : 0))
    bytes.overwrite(UInt32(bytes.count), at: 4 + 4 * shape.id)
    bytes.append(littleEndian: UInt32(shape.names.count))
    var end = 0
    for name in shape.names {
      end += name.utf8.count
      bytes.append(littleEndian: UInt32(end))
    }
    for name in shape.names { bytes.append(contentsOf: name.utf8) }
  }
}

extension String {
  /// Nil if the bytes are not valid UTF-8.
  init?(record bytes: RawSpan) {
    let text = unsafe bytes.withUnsafeBytes { bytes -> String? in
      #if canImport(Darwin)
      // `UTF8Span`, which the other branch uses, exists only on the newest Apple systems.
      return unsafe String(validating: bytes, as: UTF8.self)
      #else
      // Faster than `String(validating:as:)`.
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

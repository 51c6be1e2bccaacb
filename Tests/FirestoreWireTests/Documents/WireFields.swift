// Random fields that a client may write, and a plain writer of protobuf to compare with.

import DocumentStore
import Harness

/// Generates the fields of documents that obey all rules.
struct WireFields {
  private var documents: DocumentGenerator

  init(seed: UInt64) { documents = DocumentGenerator(seed: seed) }

  mutating func next() -> StoredMap { Self.fitted(documents.document().fields) }

  static func fitted(_ map: StoredMap) -> StoredMap {
    StoredMap(
      map.entries.filter { (1...1500).contains($0.name.utf8.count) }.map {
        ($0.name, fitted($0.value, isElement: false))
      })
  }

  static func fitted(_ value: StoredValue, isElement: Bool) -> StoredValue {
    switch value {
    case .array(let elements): isElement ? .null : .array(elements.map { fitted($0, isElement: true) })
    case .map(let map): .map(fitted(map))
    case .vector(let numbers):
      isElement || numbers.isEmpty || numbers.contains(where: \.isNaN) ? .null : value
    case .pendingTimestamp(let time, _): .timestamp(time)
    default: value
    }
  }
}

/// Writes protobuf by the letter of its definition, from the first byte to the last one.
enum PlainProtobuf {
  static func varint(_ number: UInt64) -> [UInt8] {
    number < 0x80 ? [UInt8(number)] : [UInt8(number & 0x7F) | 0x80] + varint(number >> 7)
  }

  static func field(_ number: UInt64, _ content: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(UInt64(content.count)) + content
  }

  static func field(_ number: UInt64, varint value: UInt64) -> [UInt8] { varint(number << 3) + varint(value) }

  static func field(_ number: UInt64, double: Double) -> [UInt8] {
    varint(number << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: double.bitPattern >> (8 * $0)) }
  }

  /// The entries of a map in the field with this number.
  static func fields(_ fields: StoredMap, in number: UInt64 = 2) -> [UInt8] {
    fields.entries.flatMap { entry($0.name, value($0.value), in: number) }
  }

  static func entry(_ name: String, _ value: [UInt8], in number: UInt64 = 2) -> [UInt8] {
    field(number, field(1, Array(name.utf8)) + field(2, value))
  }

  static func value(_ value: StoredValue) -> [UInt8] {
    switch value {
    case .null, .pendingTimestamp: field(11, varint: 0)
    case .boolean(let value): field(1, varint: value ? 1 : 0)
    case .integer(let value): field(2, varint: UInt64(bitPattern: value))
    case .double(let value): field(3, double: value)
    case .timestamp(let time): field(10, timestamp(time.seconds, time.nanoseconds))
    case .string(let text): field(17, Array(text.utf8))
    case .bytes(let bytes): field(18, bytes)
    case .reference(let reference):
      field(
        5,
        Array(
          "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)".utf8
        ))
    case .geoPoint(let point): field(8, geoPoint(point.latitude, point.longitude))
    case .array(let elements): field(9, elements.flatMap { field(1, Self.value($0)) })
    case .vector(let numbers): field(6, vector(numbers))
    case .map(let map): field(6, fields(map, in: 1))
    }
  }

  static func vector(_ numbers: [Double]) -> [UInt8] {
    fields(
      StoredMap([("__type__", .string("__vector__")), ("value", .array(numbers.map(StoredValue.double)))]),
      in: 1)
  }

  static func timestamp(_ seconds: Int64, _ nanos: Int32) -> [UInt8] {
    (seconds == 0 ? [] : field(1, varint: UInt64(bitPattern: seconds)))
      + (nanos == 0 ? [] : field(2, varint: UInt64(bitPattern: Int64(nanos))))
  }

  static func geoPoint(_ latitude: Double, _ longitude: Double) -> [UInt8] {
    (latitude.bitPattern == 0 ? [] : field(1, double: latitude))
      + (longitude.bitPattern == 0 ? [] : field(2, double: longitude))
  }
}

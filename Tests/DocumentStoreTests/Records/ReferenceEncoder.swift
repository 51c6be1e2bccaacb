// An encoder that follows the grammar in RecordCodec.swift step by step, to compare other encoders with.

import ByteStore

@testable import DocumentStore

struct ReferenceEncoder {
  let shapes: ShapeDictionary?

  func fields(_ map: StoredMap) -> [UInt8] {
    let parts = map.entries.map { value($0.value) }
    if let shape = shapes?.id(of: map) {
      return table(head: shape + 1, lengths: parts.map(\.count)) + parts.joined()
    }
    let entries = zip(map.entries, parts).map { entry, part -> [UInt8] in
      var bytes: [UInt8] = []
      bytes.append(varint: UInt64(entry.name.utf8.count))
      return bytes + Array(entry.name.utf8) + part
    }
    var offsets: [Int] = []
    for entry in entries.dropLast() { offsets.append((offsets.last ?? 0) + entry.count) }
    let code = Self.code(offsets.max() ?? 0)
    var bytes: [UInt8] = [UInt8(code)]
    bytes.append(varint: UInt64(entries.count))
    return bytes + Self.numbers(offsets, code) + entries.joined()
  }

  private func table(head: Int, lengths: [Int]) -> [UInt8] {
    let code = Self.code(lengths.dropLast().max() ?? 0)
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(head << 2 | code))
    return bytes + Self.numbers(lengths.dropLast(), code)
  }

  private static func code(_ largest: Int) -> Int { largest > 0xFFFF ? 2 : largest > 0xFF ? 1 : 0 }

  private static func numbers(_ numbers: some Sequence<Int>, _ code: Int) -> [UInt8] {
    numbers.flatMap { number in (0..<1 << code).map { UInt8(number >> (8 * $0) & 0xFF) } }
  }

  private func value(_ value: StoredValue) -> [UInt8] {
    var bytes: [UInt8] = []
    func scalar(_ tag: RecordCodec.Tag, _ payload: [UInt8] = []) -> [UInt8] { [tag.rawValue] + payload }
    func number(_ number: Int64) -> [UInt8] {
      var payload: [UInt8] = []
      payload.append(lowest: number.recordBytes, of: UInt64(bitPattern: number))
      return payload
    }
    switch value {
    case .null: return scalar(.null)
    case .boolean(let value): return scalar(value ? .true : .false)
    case .integer(let value): return scalar(.integer, number(value))
    case .double(let value):
      bytes.append(littleEndian: value.bitPattern)
      return scalar(.double, Array(bytes.drop { $0 == 0 }))
    case .timestamp(let value): return scalar(.timestamp, number(value.microseconds))
    case .pendingTimestamp(let time, let previous):
      bytes.append(littleEndian: time.microseconds)
      return scalar(.pendingTimestamp, bytes + (previous.map(self.value) ?? []))
    case .string(let value): return scalar(.string, Array(value.utf8))
    case .bytes(let value): return scalar(.bytes, value)
    case .reference(let value):
      for name in [value.projectID, value.databaseID] {
        bytes.append(varint: UInt64(name.utf8.count))
        bytes += Array(name.utf8)
      }
      return scalar(.reference, bytes + Array(value.path.description.utf8))
    case .geoPoint(let value):
      bytes.append(littleEndian: value.latitude.bitPattern)
      bytes.append(littleEndian: value.longitude.bitPattern)
      return scalar(.geoPoint, bytes)
    case .vector(let values):
      for value in values { bytes.append(littleEndian: value.bitPattern) }
      return scalar(.vector, bytes)
    case .array(let elements):
      let parts = elements.map(self.value)
      return scalar(.array, table(head: elements.count, lengths: parts.map(\.count)) + parts.joined())
    case .map(let map): return scalar(.map, fields(map))
    }
  }
}

extension ShapeDictionary {
  /// The id of the shape of a map. Notes the map's occurrence.
  func id(of map: StoredMap) -> Int? { id(of: map.entries.map(\.name)) }
}

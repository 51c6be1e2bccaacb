// Values with the equality and the order of queries.

import DocumentStore

/// A value that is equal to another one if a query finds both as equal: 1 equals 1.0, 0.0 equals -0.0, and
/// NaN equals NaN.
struct ComparedValue: Hashable, Comparable {
  let value: StoredValue

  init(_ value: StoredValue) { self.value = value }

  static func == (left: Self, right: Self) -> Bool { ValueOrder.compare(left.value, right.value) == .same }

  static func < (left: Self, right: Self) -> Bool { ValueOrder.compare(left.value, right.value) == .before }

  func hash(into hasher: inout Hasher) { Self.hash(value, &hasher) }

  private static func hash(_ value: StoredValue, _ hasher: inout Hasher) {
    hasher.combine(value.typeClass.rawValue)
    switch value {
    case .null: break
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hash(Double(value), &hasher)
    case .double(let value): hash(value, &hasher)
    case .timestamp(let time), .pendingTimestamp(let time, _): hasher.combine(time.microseconds)
    case .string(let text): hash(text, &hasher)
    case .bytes(let bytes): hasher.combine(bytes)
    case .reference(let reference): hasher.combine(reference.path)
    case .geoPoint(let point):
      hash(point.latitude, &hasher)
      hash(point.longitude, &hasher)
    case .array(let values):
      hasher.combine(values.count)
      for value in values { hash(value, &hasher) }
    case .vector(let numbers):
      hasher.combine(numbers.count)
      for number in numbers { hash(number, &hasher) }
    case .map(let map):
      hasher.combine(map.count)
      for (name, value) in map.entries {
        hash(name, &hasher)
        hash(value, &hasher)
      }
    }
  }

  /// All NaNs have one hash, and both zeros have one.
  private static func hash(_ number: Double, _ hasher: inout Hasher) {
    hasher.combine(number.isNaN ? Double.nan.bitPattern : (number == 0 ? 0 : number).bitPattern)
  }

  /// Swift hashes canonically equivalent texts equally, but a query tells them apart.
  private static func hash(_ text: String, _ hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8.max)
  }

  /// Rough memory of the value beyond its own words.
  var bytes: Int { Self.bytes(of: value) }

  private static func bytes(of value: StoredValue) -> Int {
    let own = MemoryLayout<StoredValue>.stride
    switch value {
    case .string(let text): return own + text.utf8.count
    case .bytes(let bytes): return own + bytes.count
    case .reference(let reference):
      return own + reference.path.segments.reduce(64) { $0 + $1.utf8.count + 16 }
    case .array(let values): return values.reduce(own) { $0 + bytes(of: $1) }
    case .vector(let numbers): return own + 8 * numbers.count
    case .map(let map): return map.entries.reduce(own) { $0 + $1.name.utf8.count + 16 + bytes(of: $1.value) }
    case .null, .boolean, .integer, .double, .timestamp, .pendingTimestamp, .geoPoint: return own
    }
  }
}

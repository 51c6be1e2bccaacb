// Index keys: values encoded as bytes that sort like the values.
//
// Values that compare as equal have equal bytes.
//
//   value     := 0x10                                null
//              | 0x20 | 0x21                         false, true
//              | 0x30 number
//              | 0x40 microseconds:i64
//              | 0x48 microseconds:i64               a timestamp that is pending
//              | 0x50 text
//              | 0x60 text                           bytes
//              | 0x70 text text path                 project, database, and the key of the document
//              | 0x80 double double                  latitude, longitude
//              | 0x90 value* 0x00                    an array
//              | 0xA0 dimension:u64 double*          a vector
//              | 0xB0 (0x01 text value)* 0x00        a map
//   number    := double                              of a size below 2^53 or above 2^63
//              | double rest:u16                     else: an integer is `rest` more than the double
//   double    := bits:u64                            inverted if negative, else only the sign; NaN is 0
//   text      := byte* 0x00 0x01                     a zero byte in it becomes 0x00 0xFF
//
// Integers are big-endian, signed ones with the sign bit inverted. No encoding is a prefix of another, so
// values can be concatenated. A descending value has all bits inverted.

enum IndexKey {
  static let null: UInt8 = 0x10
  static let `false`: UInt8 = 0x20
  static let `true`: UInt8 = 0x21
  static let number: UInt8 = 0x30
  static let timestamp: UInt8 = 0x40
  static let pendingTimestamp: UInt8 = 0x48
  static let text: UInt8 = 0x50
  static let bytes: UInt8 = 0x60
  static let geoPoint: UInt8 = 0x80
  static let vector: UInt8 = 0xA0
  /// The second byte of the end marker of a text. It follows a zero byte.
  static let textEnd: UInt8 = 0x01

  static func append(_ value: StoredValue, _ direction: OrderBy.Direction, to key: inout [UInt8]) {
    let start = key.count
    append(value, to: &key)
    if direction == .descending {
      for index in start..<key.count { key[index] = ~key[index] }
    }
  }

  private static func append(_ value: StoredValue, to key: inout [UInt8]) {
    switch value {
    case .null: key.append(null)
    case .boolean(let flag): key.append(flag ? `true` : `false`)
    case .integer(let number):
      key.append(Self.number)
      let (double, rest) = parts(of: number)
      append(double, rest: rest, to: &key)
    case .double(let number):
      key.append(Self.number)
      append(number, rest: 0, to: &key)
    case .timestamp(let time):
      key.append(timestamp)
      key.append(ordered: time.microseconds)
    case .pendingTimestamp(let time, _):
      key.append(pendingTimestamp)
      key.append(ordered: time.microseconds)
    case .string(let text):
      key.append(Self.text)
      key.append(ordered: text)
    case .bytes(let bytes):
      key.append(Self.bytes)
      key.append(ordered: bytes)
    case .reference(let reference):
      key.append(0x70)
      key.append(ordered: reference.projectID)
      key.append(ordered: reference.databaseID)
      key += DocumentKey.encode(reference.path)
    case .geoPoint(let place):
      key.append(Self.geoPoint)
      key.append(ordered: bits(of: place.latitude))
      key.append(ordered: bits(of: place.longitude))
    case .array(let elements):
      key.append(0x90)
      for element in elements { append(element, to: &key) }
      key.append(0)
    case .vector(let elements):
      key.append(vector)
      key.append(ordered: UInt64(elements.count))
      for element in elements { key.append(ordered: bits(of: element)) }
    case .map(let map):
      key.append(0xB0)
      for (name, value) in map.entries {
        key.append(1)
        key.append(ordered: name)
        append(value, to: &key)
      }
      key.append(0)
    }
  }

  /// Returns the greatest double that is not greater than the number, and the number minus that double. The
  /// difference is less than 1024, because 1024 is the largest gap between doubles below 2^63.
  static func parts(of number: Int64) -> (double: Double, rest: UInt16) {
    var double = Double(number)
    guard hasRest(double) else { return (double, 0) }
    if ValueOrder.compare(.double(double), .integer(number)) == .after { double = double.nextDown }
    return (double, UInt16(number - Int64(double)))
  }

  /// Whether the key of a number contains what an integer adds to this double.
  static func hasRest(_ double: Double) -> Bool { (0x1p53...0x1p63).contains(double.magnitude) }

  private static func append(_ double: Double, rest: UInt16, to key: inout [UInt8]) {
    key.append(ordered: bits(of: double))
    guard hasRest(double) else { return }
    key.append(UInt8(rest >> 8))
    key.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Normalizes NaN and zero.
  static func bits(of number: Double) -> UInt64 {
    guard !number.isNaN else { return 0 }
    let bits = (number == 0 ? 0.0 : number).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }
}

extension StoredValue {
  /// Bytes that sort like the value does in a query. They are meant for ordered lists other than indexes.
  package var sortBytes: [UInt8] {
    var bytes: [UInt8] = []
    IndexKey.append(self, .ascending, to: &bytes)
    return bytes
  }
}

extension [UInt8] {
  /// Replaces the array's content with the key of a value and reuses the array's storage.
  mutating func replace(withKeyOf value: StoredValue) {
    removeAll(keepingCapacity: true)
    IndexKey.append(value, .ascending, to: &self)
  }

  /// The first eight bytes as a number. If these numbers differ for two keys, they determine the order of the
  /// keys.
  var head: UInt64 {
    var head: UInt64 = 0
    for place in 0..<8 { head = head << 8 | (place < count ? UInt64(self[place]) : 0) }
    return head
  }
}

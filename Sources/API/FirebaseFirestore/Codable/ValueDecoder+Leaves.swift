// Decodes a value as a type: first the types without a container, then all others.

import DocumentStore
import FirebaseCore
private import Foundation

extension ValueDecoder {
  /// Decodes `value` as `type`. Without a key, `value` is this decoder's own value and not a nested one.
  func decode<T: Decodable>(_ type: T.Type, from value: CodedValue, at key: (any CodingKey)?) throws -> T {
    // Comparing types is cheaper than a dynamic cast. The most frequent types come first.
    if T.self == String.self { return same(try require(type, value.string, in: value, at: key)) }
    if T.self == Int.self { return same(try integer(Int.self, value, at: key)) }
    if T.self == Double.self { return same(try double(type, value, at: key)) }
    if T.self == Bool.self { return same(try require(type, value.boolean, in: value, at: key)) }
    if T.self == Date.self { return same(try date(value, at: key)) }
    if T.self == Timestamp.self { return same(try timestamp(type, value, at: key)) }
    if T.self == Int64.self { return same(try integer(Int64.self, value, at: key)) }
    if T.self == Data.self { return same(try data(value, at: key)) }
    if T.self == Float.self { return same(try float(value, at: key)) }
    if T.self == URL.self { return same(try url(value, at: key)) }
    if T.self == Decimal.self { return same(try decimal(value, at: key)) }
    if T.self == DocumentReference.self { return same(try reference(value, at: key)) }
    if T.self == GeoPoint.self {
      return same(GeoPoint(try require(type, value.geoPoint, in: value, at: key)))
    }
    if T.self == VectorValue.self {
      return same(VectorValue(try require(type, value.vector, in: value, at: key)))
    }
    if case .recordArray(let array) = value {
      // Decoding the elements one by one would need a container.
      if T.self == [String].self, let strings = array.strings { return same(strings) }
      if T.self == [Int].self, let integers = Self.exact(array.integers) { return same(integers) }
      if T.self == [Double].self, let doubles = array.doubles { return same(doubles) }
    }
    return try decodeRare(type, from: value, at: key)
  }

  /// Nil if an integer does not fit.
  private static func exact(_ integers: [Int64]?) -> [Int]? {
    guard let integers else { return nil }
    var exact: [Int] = []
    exact.reserveCapacity(integers.count)
    for integer in integers {
      guard let next = Int(exactly: integer) else { return nil }
      exact.append(next)
    }
    return exact
  }

  private func decodeRare<T: Decodable>(
    _ type: T.Type, from value: CodedValue, at key: (any CodingKey)?
  ) throws -> T {
    if T.self == Int32.self { return same(try integer(Int32.self, value, at: key)) }
    if T.self == UInt8.self { return same(try integer(UInt8.self, value, at: key)) }
    if T.self == UInt.self { return same(try integer(UInt.self, value, at: key)) }
    if T.self == UInt64.self { return same(try integer(UInt64.self, value, at: key)) }
    if T.self == UInt32.self { return same(try integer(UInt32.self, value, at: key)) }
    if T.self == Int16.self { return same(try integer(Int16.self, value, at: key)) }
    if T.self == UInt16.self { return same(try integer(UInt16.self, value, at: key)) }
    if T.self == Int8.self { return same(try integer(Int8.self, value, at: key)) }
    if T.self == Int128.self { return same(try integer(Int128.self, value, at: key)) }
    if T.self == UInt128.self { return same(try integer(UInt128.self, value, at: key)) }
    if case .other(let other) = value { return try decodeObject(type, other, at: key) }
    return try decodeNested(type, from: value, at: key)
  }

  /// Whether `decode` handles the type itself, and never calls its `init(from:)` without a strategy.
  static func isScalar<T>(_ type: T.Type) -> Bool {
    T.self == String.self || T.self == Int.self || T.self == Double.self || T.self == Bool.self
      || T.self == Date.self || T.self == Timestamp.self || T.self == Int64.self || T.self == Data.self
      || T.self == Float.self || T.self == URL.self || T.self == Decimal.self
      || T.self == DocumentReference.self || T.self == GeoPoint.self || T.self == VectorValue.self
      || T.self == Int32.self || T.self == UInt8.self || T.self == UInt.self || T.self == UInt64.self
      || T.self == UInt32.self || T.self == Int16.self || T.self == UInt16.self || T.self == Int8.self
      || T.self == Int128.self || T.self == UInt128.self
  }

  func decodeNested<T: Decodable>(
    _ type: T.Type, from value: CodedValue, at key: (any CodingKey)?
  ) throws -> T {
    let isDictionary = options.convertsKeys && type is any StringKeyed.Type
    // `type` may be a subclass of `T`.
    return try type.init(from: child(value, at: key, keysAreExact: isDictionary))
  }

  func decodeNested<T: Decodable>(
    _ type: T.Type, fromMap map: RecordMap, at key: any CodingKey
  ) throws -> T {
    let isDictionary = options.convertsKeys && type is any StringKeyed.Type
    return try type.init(from: child(map, at: key, keysAreExact: isDictionary))
  }

  // This method is not inlined, because an optional of a generic type is looked up at run time, also where it
  // is not needed.
  @inline(never)
  private func decodeObject<T: Decodable>(
    _ type: T.Type, _ other: Any, at key: (any CodingKey)?
  ) throws -> T {
    if let same = Self.instance(of: type, other) as? T { return same }
    return try decodeNested(type, from: .other(other), at: key)
  }

  /// Returns `other` if it is an instance of `type`.
  private static func instance(of type: any Decodable.Type, _ other: Any) -> Any? {
    func opened<Dynamic>(_: Dynamic.Type) -> Any? { other as? Dynamic }
    return opened(type)
  }

  // MARK: Numbers

  /// Returns the number as an integer. Throws if the integer type cannot represent it exactly.
  private func integer<I: FixedWidthInteger>(
    _ type: I.Type, _ value: CodedValue, at key: (any CodingKey)?
  ) throws -> I {
    let exact: I? =
      switch value {
      case .stored(.integer(let integer)): I(exactly: integer)
      case .stored(.double(let double)): I(exactly: double)
      case .decimal(let decimal): Self.whole(decimal.decimalValue)
      case .other(let other): Self.exactly(try largeInteger(other, type, value: value, at: key))
      default: throw mismatch(type, value, at: key)
      }
    guard let exact else { throw corrupted("The number does not fit in \(type).", at: key) }
    return exact
  }

  private static func exactly<I: FixedWidthInteger>(_ integer: some FixedWidthInteger) -> I? {
    I(exactly: integer)
  }

  /// Returns nil if the decimal has a fraction. Converts through a string, because a double has fewer digits
  /// than a decimal.
  private static func whole<I: FixedWidthInteger>(_ decimal: Decimal) -> I? {
    var (rounded, copy) = (Decimal(), decimal)
    unsafe NSDecimalRound(&rounded, &copy, 0, .plain)
    return rounded == decimal ? I("\(rounded)") : nil
  }

  /// Returns an integer that does not fit in `Int64`, and therefore has no stored form.
  private func largeInteger(
    _ other: Any, _ type: Any.Type, value: CodedValue, at key: (any CodingKey)?
  ) throws -> any FixedWidthInteger {
    if let number = other as? NSNumber { return number.uint64Value }
    guard let integer = other as? any FixedWidthInteger else { throw mismatch(type, value, at: key) }
    return integer
  }

  /// Returns the nearest double. Large integers may lose digits, as in all of Firestore's libraries.
  private func double(_ type: Any.Type, _ value: CodedValue, at key: (any CodingKey)?) throws -> Double {
    switch (value, options.nonConformingFloat) {
    case (.stored(.double(let double)), _): return double
    case (.stored(.integer(let integer)), _): return Double(integer)
    case (.decimal(let decimal), _): return decimal.doubleValue
    case (.other(let other), _):
      let integer = try largeInteger(other, type, value: value, at: key)
      return Self.nearest(integer)
    case (.stored(.string(let text)), .convertFromString(let infinity, let negativeInfinity, let nan)):
      if text == infinity { return .infinity }
      if text == negativeInfinity { return -.infinity }
      if text == nan { return .nan }
      throw mismatch(type, value, at: key)
    default: throw mismatch(type, value, at: key)
    }
  }

  private static func nearest(_ integer: some FixedWidthInteger) -> Double { Double(integer) }

  private func float(_ value: CodedValue, at key: (any CodingKey)?) throws -> Float {
    let double = try double(Float.self, value, at: key)
    let float = Float(double)
    guard float.isFinite || !double.isFinite else {
      throw corrupted("The number \(double) does not fit in Float.", at: key)
    }
    return float
  }

  private func decimal(_ value: CodedValue, at key: (any CodingKey)?) throws -> Decimal {
    switch value {
    case .decimal(let decimal): return decimal.decimalValue
    case .stored(.integer(let integer)): return Decimal(integer)
    case .stored(.double(let double)):
      // Converts the shortest string that represents this double, so that a number written as 1.1 is read
      // as 1.1.
      guard let decimal = Decimal(string: "\(double)") else {
        throw corrupted("The number \(double) does not fit in Decimal.", at: key)
      }
      return decimal
    default: throw mismatch(Decimal.self, value, at: key)
    }
  }

  // MARK: Times, bytes, locations

  private func date(_ value: CodedValue, at key: (any CodingKey)?) throws -> Date {
    switch options.date {
    case .timestamp:
      // `other` can be a date outside the range of timestamps.
      if case .other(let other) = value, let date = other as? Date { return date }
      return try timestamp(Date.self, value, at: key).dateValue()
    case .secondsSince1970:
      return Date(timeIntervalSince1970: try double(Date.self, value, at: key))
    case .millisecondsSince1970:
      return Date(timeIntervalSince1970: try double(Date.self, value, at: key) / 1000)
    case .iso8601:
      let text = try require(Date.self, value.string, in: value, at: key)
      guard let date = try? Date(text, strategy: .iso8601) else {
        throw corrupted("Expected date string to be ISO8601-formatted.", at: key)
      }
      return date
    case .formatted(let formatter):
      let text = try require(Date.self, value.string, in: value, at: key)
      guard let date = formatter.date(from: text) else {
        throw corrupted("Date string does not match format expected by formatter.", at: key)
      }
      return date
    case .deferredToDate:
      return try Date(from: child(value, at: key))
    case .custom(let decode):
      return try decode(child(value, at: key))
    }
  }

  func timestamp(_ type: Any.Type, _ value: CodedValue, at key: (any CodingKey)?) throws -> Timestamp {
    switch value {
    case .stored(.timestamp(let stored)): return Timestamp(stored)
    case .timestamp(let timestamp): return timestamp
    default: throw mismatch(type, value, at: key)
    }
  }

  private func data(_ value: CodedValue, at key: (any CodingKey)?) throws -> Data {
    switch options.data {
    case .blob:
      if case .stored(.bytes(let bytes)) = value { return Data(bytes) }
      return try base64(value, at: key)
    case .base64:
      return try base64(value, at: key)
    case .deferredToData:
      return try Data(from: child(value, at: key))
    case .custom(let decode):
      return try decode(child(value, at: key))
    }
  }

  private func base64(_ value: CodedValue, at key: (any CodingKey)?) throws -> Data {
    let text = try require(Data.self, value.string, in: value, at: key)
    guard let data = Data(base64Encoded: text) else {
      throw corrupted("Encountered Data is not valid Base64.", at: key)
    }
    return data
  }

  private func url(_ value: CodedValue, at key: (any CodingKey)?) throws -> URL {
    let text = try require(URL.self, value.string, in: value, at: key)
    guard let url = URL(string: text) else { throw corrupted("Invalid URL string.", at: key) }
    return url
  }

  func reference(_ value: CodedValue, at key: (any CodingKey)?) throws -> DocumentReference {
    switch value {
    case .reference(let reference):
      return reference
    case .stored(.reference(let stored)):
      guard let document = options.reference else {
        throw FirestoreDecodingError.decodingIsNotSupported(
          "DocumentReference values can only be decoded where the database is known")
      }
      return DocumentReference(document.firestore, stored.path.segments)
    default:
      throw mismatch(DocumentReference.self, value, at: key)
    }
  }
}

extension CodedValue {
  fileprivate var string: String? {
    if case .stored(.string(let string)) = self { string } else { nil }
  }

  fileprivate var boolean: Bool? {
    if case .stored(.boolean(let boolean)) = self { boolean } else { nil }
  }

  var geoPoint: StoredGeoPoint? {
    if case .stored(.geoPoint(let point)) = self { point } else { nil }
  }

  var vector: [Double]? {
    if case .stored(.vector(let vector)) = self { vector } else { nil }
  }
}

/// Returns `value`, whose type is known to be `Target`. A checked cast would cost more than encoding or
/// decoding a whole field, which takes a few dozen nanoseconds.
@inline(__always)
func same<Source, Target>(_ value: Source, as type: Target.Type = Target.self) -> Target {
  precondition(Source.self == Target.self, "callers compare the types first")
  // This is safe because `Source` and `Target` are the same type, so the copy has the same layout and
  // ownership.
  return unsafe unsafeBitCast(value, to: type)
}

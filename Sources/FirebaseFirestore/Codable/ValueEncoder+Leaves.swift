// Types that become values without a container of their own.

private import DocumentStore
private import FirebaseCore
private import Foundation

extension ValueEncoder {
  /// Nil for a type that has to encode itself.
  func leaf<T: Encodable>(_ value: T, at key: (any CodingKey)?) throws -> CodedValue? {
    // Comparing types costs less than asking a value what it is; the common ones come first.
    if T.self == String.self { return .stored(.string(value as! String)) }
    if T.self == Int.self { return .stored(.integer(Int64(value as! Int))) }
    if T.self == Double.self { return try float(value as! Double, value, at: key) }
    if T.self == Bool.self { return .stored(.boolean(value as! Bool)) }
    if T.self == Date.self { return try date(value as! Date, at: key) }
    if T.self == Timestamp.self { return .timestamp(value as! Timestamp) }
    if T.self == Int64.self { return .stored(.integer(value as! Int64)) }
    if T.self == Data.self { return try data(value as! Data, at: key) }
    if T.self == Float.self { return try float(Double(value as! Float), value, at: key) }
    if T.self == URL.self { return .stored(.string((value as! URL).absoluteString)) }
    if T.self == Decimal.self { return .decimal(NSDecimalNumber(decimal: value as! Decimal)) }
    if T.self == DocumentReference.self { return .reference(value as! DocumentReference) }
    if T.self == GeoPoint.self { return .stored(.geoPoint((value as! GeoPoint).stored)) }
    if T.self == FieldValue.self { return .sentinel(value as! FieldValue) }
    if T.self == VectorValue.self { return .stored(.vector((value as! VectorValue).array)) }
    return try rareInteger(value, at: key)
  }

  private func rareInteger<T>(_ value: T, at key: (any CodingKey)?) throws -> CodedValue? {
    if T.self == Int32.self { return try integer(value as! Int32, at: key) }
    if T.self == UInt8.self { return try integer(value as! UInt8, at: key) }
    if T.self == UInt.self { return try integer(value as! UInt, at: key) }
    if T.self == UInt64.self { return try integer(value as! UInt64, at: key) }
    if T.self == UInt32.self { return try integer(value as! UInt32, at: key) }
    if T.self == Int16.self { return try integer(value as! Int16, at: key) }
    if T.self == UInt16.self { return try integer(value as! UInt16, at: key) }
    if T.self == Int8.self { return try integer(value as! Int8, at: key) }
    if T.self == Int128.self { return try integer(value as! Int128, at: key) }
    if T.self == UInt128.self { return try integer(value as! UInt128, at: key) }
    return nil
  }

  private func integer(_ value: some FixedWidthInteger, at key: (any CodingKey)?) throws -> CodedValue {
    guard let exact = Int64(exactly: value) else {
      throw invalid(value, "NSNumber (\(value)) is too large", at: key)
    }
    return .stored(.integer(exact))
  }

  private func float<T>(_ double: Double, _ value: T, at key: (any CodingKey)?) throws -> CodedValue {
    if double.isFinite { return .stored(.double(double)) }
    switch options.nonConformingFloat {
    case .convertToString(let positiveInfinity, let negativeInfinity, let nan):
      let text = double.isNaN ? nan : double > 0 ? positiveInfinity : negativeInfinity
      return .stored(.string(text))
    case .throw:
      let name = double.isNaN ? "nan" : double > 0 ? "infinity" : "-infinity"
      throw invalid(
        value,
        "Unable to encode \(T.self).\(name) directly. Use nonConformingFloatEncodingStrategy "
          + ".convertToString to say what it becomes.", at: key)
    }
  }

  private func date(_ date: Date, at key: (any CodingKey)?) throws -> CodedValue {
    switch options.date {
    case .timestamp:
      // The range is checked here, because outside of it `Timestamp` traps.
      let seconds = date.timeIntervalSince1970.rounded(.down)
      guard let whole = Int64(exactly: seconds), StoredTimestamp.secondsRange.contains(whole) else {
        throw invalid(date, "The date is not between the years 1 and 9999.", at: key)
      }
      return .timestamp(Timestamp(date: date))
    case .secondsSince1970:
      return .stored(.double(date.timeIntervalSince1970))
    case .millisecondsSince1970:
      return .stored(.double(date.timeIntervalSince1970 * 1000))
    case .iso8601:
      return .stored(.string(date.formatted(.iso8601)))
    case .formatted(let formatter):
      return .stored(.string(formatter.string(from: date)))
    case .deferredToDate:
      return try written(at: key) { try date.encode(to: $0) }
    case .custom(let encode):
      return try written(at: key) { try encode(date, $0) }
    }
  }

  private func data(_ data: Data, at key: (any CodingKey)?) throws -> CodedValue {
    switch options.data {
    case .blob:
      return .stored(.bytes([UInt8](data)))
    case .base64:
      return .stored(.string(data.base64EncodedString()))
    case .deferredToData:
      return try written(at: key) { try data.encode(to: $0) }
    case .custom(let encode):
      return try written(at: key) { try encode(data, $0) }
    }
  }

  private func written(
    at key: (any CodingKey)?, _ encode: (ValueEncoder) throws -> Void
  ) rethrows -> CodedValue {
    let child = child(at: key)
    try encode(child)
    return child.result
  }

  private func invalid(_ value: Any, _ message: String, at key: (any CodingKey)?) -> EncodingError {
    .invalidValue(
      value, EncodingError.Context(codingPath: path(to: key), debugDescription: message))
  }
}

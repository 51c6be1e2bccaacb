// Encodes the types that need no container of their own.

private import DocumentStore
private import FirebaseCore
private import Foundation

extension ValueEncoder {
  /// Returns the coded form of `value`; nil if its type must encode itself.
  func leaf<T: Encodable>(_ value: T, at key: (any CodingKey)?) throws -> CodedValue? {
    // Comparing types is cheaper than a dynamic cast. The most frequent types come first.
    if T.self == String.self { return .stored(.string(same(value, as: String.self))) }
    if T.self == Int.self { return .stored(.integer(Int64(same(value, as: Int.self)))) }
    if T.self == Double.self { return try float(same(value, as: Double.self), value, at: key) }
    if T.self == Bool.self { return .stored(.boolean(same(value, as: Bool.self))) }
    if T.self == Date.self { return try date(same(value, as: Date.self), at: key) }
    if T.self == Timestamp.self { return .timestamp(same(value, as: Timestamp.self)) }
    if T.self == Int64.self { return .stored(.integer(same(value, as: Int64.self))) }
    if T.self == Data.self { return try data(same(value, as: Data.self), at: key) }
    if T.self == Float.self { return try float(Double(same(value, as: Float.self)), value, at: key) }
    if T.self == URL.self { return .stored(.string(same(value, as: URL.self).absoluteString)) }
    if T.self == Decimal.self { return .decimal(NSDecimalNumber(decimal: same(value, as: Decimal.self))) }
    if T.self == DocumentReference.self { return .reference(same(value, as: DocumentReference.self)) }
    if T.self == GeoPoint.self { return .stored(.geoPoint(same(value, as: GeoPoint.self).stored)) }
    if T.self == FieldValue.self { return .sentinel(same(value, as: FieldValue.self)) }
    if T.self == VectorValue.self { return .stored(.vector(same(value, as: VectorValue.self).array)) }
    return try rareInteger(value, at: key)
  }

  private func rareInteger<T>(_ value: T, at key: (any CodingKey)?) throws -> CodedValue? {
    if T.self == Int32.self { return try integer(same(value, as: Int32.self), at: key) }
    if T.self == UInt8.self { return try integer(same(value, as: UInt8.self), at: key) }
    if T.self == UInt.self { return try integer(same(value, as: UInt.self), at: key) }
    if T.self == UInt64.self { return try integer(same(value, as: UInt64.self), at: key) }
    if T.self == UInt32.self { return try integer(same(value, as: UInt32.self), at: key) }
    if T.self == Int16.self { return try integer(same(value, as: Int16.self), at: key) }
    if T.self == UInt16.self { return try integer(same(value, as: UInt16.self), at: key) }
    if T.self == Int8.self { return try integer(same(value, as: Int8.self), at: key) }
    if T.self == Int128.self { return try integer(same(value, as: Int128.self), at: key) }
    if T.self == UInt128.self { return try integer(same(value, as: UInt128.self), at: key) }
    return nil
  }

  private func integer(_ value: some FixedWidthInteger, at key: (any CodingKey)?) throws -> CodedValue {
    guard let exact = Int64(exactly: value) else {
      throw invalid(value, UserDataError.outOfRange("\(value)"), at: key)
    }
    return .stored(.integer(exact))
  }

  private func float<T>(_ double: Double, _ value: T, at key: (any CodingKey)?) throws -> CodedValue {
    if double.isFinite { return .stored(.double(double)) }
    switch options.nonConformingFloat {
    case nil:
      return .stored(.double(double))
    case .convertToString(let positiveInfinity, let negativeInfinity, let nan):
      let text = double.isNaN ? nan : double > 0 ? positiveInfinity : negativeInfinity
      return .stored(.string(text))
    case .throw:
      let name = double.isNaN ? "nan" : double > 0 ? "infinity" : "-infinity"
      throw invalid(
        value,
        "Unable to encode \(T.self).\(name) directly. Use nonConformingFloatEncodingStrategy "
          + ".convertToString to specify its string.", at: key)
    }
  }

  private func date(_ date: Date, at key: (any CodingKey)?) throws -> CodedValue {
    switch options.date {
    case .timestamp:
      // Checks the range here, because `Timestamp` traps outside its range.
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
      return try written(date, at: key) { try date.encode(to: $0) }
    case .custom(let encode):
      return try written(date, at: key) { try encode(date, $0) }
    }
  }

  private func data(_ data: Data, at key: (any CodingKey)?) throws -> CodedValue {
    switch options.data {
    case .blob:
      return .stored(.bytes([UInt8](data)))
    case .base64:
      return .stored(.string(data.base64EncodedString()))
    case .deferredToData:
      return try written(data, at: key) { try data.encode(to: $0) }
    case .custom(let encode):
      return try written(data, at: key) { try encode(data, $0) }
    }
  }

  private func written(
    _ value: Any, at key: (any CodingKey)?, _ encode: (ValueEncoder) throws -> Void
  ) throws -> CodedValue {
    let child = child(at: key)
    try encode(child)
    try child.checkWrittenOnce(value)
    return child.result
  }

  private func invalid(_ value: Any, _ message: String, at key: (any CodingKey)?) -> EncodingError {
    .invalidValue(
      value, EncodingError.Context(codingPath: path(to: key), debugDescription: message))
  }
}

// Sample values of types that only the model class encodes. The search for the property that a key path reads
// uses these samples.

/// Creates sample values of types that have `allCases` or an integer raw value.
enum EnumSamples {
  /// Returns two different values, or nil for a type without `allCases` or an integer raw value.
  static func pair<Value>(of type: Value.Type) -> (Value, Value)? {
    let found = values(of: type).prefix(2).compactMap { $0 as? Value }
    return found.count == 2 ? (found[0], found[1]) : nil
  }

  private static func values(of type: Any.Type) -> [Any] {
    if let optional = type as? any AnyOptional.Type {
      return [optional.absent] + values(of: optional.wrappedType).prefix(1)
    }
    if let listed = type as? any CaseIterable.Type { return cases(listed) }
    if let raw = type as? any RawRepresentable.Type { return numbered(raw) }
    return []
  }

  private static func cases<Value: CaseIterable>(_ type: Value.Type) -> [Any] {
    type.allCases.prefix(2).map { $0 }
  }

  /// The raw values to try. These ranges include small case numbers and codes such as HTTP status codes.
  private static let numbers = [0...65535, -256 ... -1]

  private static func numbered<Value: RawRepresentable>(_ type: Value.Type) -> [Any] {
    guard let integer = Value.RawValue.self as? any FixedWidthInteger.Type else { return [] }
    return numbered(type, integer)
  }

  private static func numbered<Value: RawRepresentable, Raw: FixedWidthInteger>(
    _ type: Value.Type, _ integer: Raw.Type
  ) -> [Any] {
    let values = numbers.joined().lazy.compactMap { number -> Value? in
      (Raw(exactly: number) as? Value.RawValue).flatMap { type.init(rawValue: $0) }
    }
    return values.prefix(2).map { $0 }
  }

  /// Whether the values are equal. Returns false if they cannot be compared.
  static func areEqual<Value>(_ left: Value, _ right: Value) -> Bool {
    func areEqual<Content: Equatable>(_ left: Content, _ right: Any) -> Bool { right as? Content == left }
    switch (Object.pringUnwrapped(left), Object.pringUnwrapped(right)) {
    case (nil, nil): return true
    case (let left?, let right?): return (left as? any Equatable).map { areEqual($0, right) } ?? false
    default: return false
    }
  }
}

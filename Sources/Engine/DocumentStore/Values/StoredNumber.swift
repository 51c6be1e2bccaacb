// Numbers, and the arithmetic of field transforms.

/// An integer or a double. Equal only if type and value are equal, as with all stored values.
public enum StoredNumber: Sendable {
  /// A 64-bit integer.
  case integer(Int64)
  /// A double.
  case double(Double)

  /// Nil if the value is not a number.
  public init?(_ value: StoredValue) {
    switch value {
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = .double(double)
    default: return nil
    }
  }

  /// The number as a stored value.
  public var value: StoredValue {
    switch self {
    case .integer(let integer): .integer(integer)
    case .double(let double): .double(double)
    }
  }

  /// Integers saturate. If one operand is a double, so is the sum.
  package func adding(_ other: StoredNumber) -> StoredNumber {
    guard case (.integer(let left), .integer(let right)) = (self, other) else {
      return .double(double + other.double)
    }
    let (sum, overflow) = left.addingReportingOverflow(right)
    return .integer(overflow ? right < 0 ? .min : .max : sum)
  }

  /// The smaller number, with its type. Returns this number if both are equal, and NaN if one of them is NaN.
  package func minimum(_ other: StoredNumber) -> StoredNumber { chosen(other, ifThatIs: .before) }

  /// The larger number, with its type. Returns this number if both are equal, and NaN if one of them is NaN.
  package func maximum(_ other: StoredNumber) -> StoredNumber { chosen(other, ifThatIs: .after) }

  private func chosen(_ other: StoredNumber, ifThatIs wanted: Ordering) -> StoredNumber {
    if isNaN { return self }
    return other.isNaN || ValueOrder.compare(other.value, value) == wanted ? other : self
  }

  private var isNaN: Bool {
    if case .double(let double) = self { double.isNaN } else { false }
  }

  private var double: Double {
    switch self {
    case .integer(let integer): Double(integer)
    case .double(let double): double
    }
  }
}

extension StoredNumber: Equatable {
  public static func == (left: Self, right: Self) -> Bool { left.value == right.value }
}

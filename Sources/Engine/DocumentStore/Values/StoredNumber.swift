// Numbers as documents have them, and the arithmetic of writes.

/// An integer or a double. Equality is identity, as with all values.
public enum StoredNumber: Sendable {
  /// A whole number.
  case integer(Int64)
  /// A number with a point.
  case double(Double)

  /// Nil for what is no number.
  public init?(_ value: StoredValue) {
    switch value {
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = .double(double)
    default: return nil
    }
  }

  /// As a value of a document.
  public var value: StoredValue {
    switch self {
    case .integer(let integer): .integer(integer)
    case .double(let double): .double(double)
    }
  }

  /// Integers stop at the ends of their range; with a double, the sum is one.
  package func adding(_ other: StoredNumber) -> StoredNumber {
    guard case (.integer(let left), .integer(let right)) = (self, other) else {
      return .double(double + other.double)
    }
    let (sum, overflow) = left.addingReportingOverflow(right)
    return .integer(overflow ? right < 0 ? .min : .max : sum)
  }

  /// The smaller of both with its type. This one, if they are equal; NaN, if one is NaN.
  package func minimum(_ other: StoredNumber) -> StoredNumber { chosen(other, ifThatIs: .before) }

  /// The larger of both with its type. This one, if they are equal; NaN, if one is NaN.
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

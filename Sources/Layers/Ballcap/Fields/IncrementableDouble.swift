// A number that a commit can also increment.

import BallcapFields
import FirebaseFirestore

/// A number, or an increment of the stored number.
///
/// ```swift
/// document.data?.amount = .increment(0.5)
/// try await document.update()
/// ```
public enum IncrementableDouble: Codable, ExpressibleByFloatLiteral, RawRepresentable, Sendable {
  /// Reads integer literals as floating-point numbers.
  public typealias IntegerLiteralType = Double
  public typealias FloatLiteralType = Double
  public typealias RawValue = Double

  /// An increment of the stored number.
  case increment(Double)
  /// The stored number.
  case value(Double)

  public init?(rawValue: Double) { self = .value(rawValue) }

  public init(floatLiteral value: Double) { self = .value(value) }

  /// The number. Traps for `.increment`, which has no raw value.
  public var rawValue: Double {
    switch self {
    case .value(let value): value
    case .increment: fatalError("IncrementableDouble.increment has no rawValue before the commit")
    }
  }

  public init(from decoder: any Decoder) throws {
    self = .value(try decoder.singleValueContainer().decode(Double.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .increment(let change): try container.encode(FieldValue.increment(change))
    case .value(let value): try container.encode(value)
    }
  }
}

extension IncrementableDouble: Hashable {
  private var form: FieldForm<Double, Double> {
    switch self {
    case .increment(let change): .change(change)
    case .value(let value): .value(value)
    }
  }

  public static func == (left: Self, right: Self) -> Bool { left.form == right.form }
  /// Whether the two differ.
  public static func != (left: Self, right: Self) -> Bool { left.form != right.form }
  public func hash(into hasher: inout Hasher) { form.hash(into: &hasher) }
  public var hashValue: Int { form.hashValue }
  // swift-format-ignore: NoLeadingUnderscores
  public func _rawHashValue(seed: Int) -> Int { form._rawHashValue(seed: seed) }
}

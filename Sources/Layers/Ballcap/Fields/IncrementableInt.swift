// An integer that a commit can also increment.

import BallcapFields
import FirebaseFirestore

/// An integer, or an increment of the stored integer.
///
/// ```swift
/// document.data?.amount = .increment(4)
/// try await document.update()
/// ```
public enum IncrementableInt: Codable, ExpressibleByIntegerLiteral, RawRepresentable, Sendable {
  public typealias IntegerLiteralType = Int64
  public typealias RawValue = Int64

  /// An increment of the stored integer.
  case increment(Int64)
  /// The stored integer.
  case value(Int64)

  public init?(rawValue: Int64) { self = .value(rawValue) }

  public init(integerLiteral value: Int64) { self = .value(value) }

  /// The integer. Traps for `.increment`, which has no raw value.
  public var rawValue: Int64 {
    switch self {
    case .value(let value): value
    case .increment: fatalError("IncrementableInt.increment has no rawValue before the commit")
    }
  }

  public init(from decoder: any Decoder) throws {
    self = .value(try decoder.singleValueContainer().decode(Int64.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .increment(let change): try container.encode(FieldValue.increment(change))
    case .value(let value): try container.encode(value)
    }
  }
}

extension IncrementableInt: Hashable {
  private var form: FieldForm<Int64, Int64> {
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

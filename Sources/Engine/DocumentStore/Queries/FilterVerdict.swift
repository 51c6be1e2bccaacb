// The meaning of a filter's operators, for values in any form: decoded, or as the bytes of a record.
//
// An encoded value with parts, such as a map, is not compared. The verdict may then be `undecided`, and the
// document must be decoded. Decoded values always give a verdict.

/// Whether a document, or one of its values, matches.
enum FilterVerdict {
  case no, yes
  /// The caller must decode the document.
  case undecided

  func and(_ other: FilterVerdict) -> FilterVerdict {
    switch (self, other) {
    case (.no, _), (_, .no): .no
    case (.yes, .yes): .yes
    default: .undecided
    }
  }

  func or(_ other: FilterVerdict) -> FilterVerdict {
    switch (self, other) {
    case (.yes, _), (_, .yes): .yes
    case (.no, .no): .no
    default: .undecided
    }
  }

  /// Whether all parts match. Stops at the first one that does not.
  @inline(__always)
  static func all<Part, Failure>(
    _ parts: [Part], _ body: (Part) throws(Failure) -> FilterVerdict
  ) throws(Failure) -> FilterVerdict {
    var verdict = FilterVerdict.yes
    for part in parts {
      verdict = verdict.and(try body(part))
      if verdict == .no { break }
    }
    return verdict
  }

  /// Whether at least one part matches. Stops at the first one that does.
  @inline(__always)
  static func any<Part, Failure>(
    _ parts: [Part], _ body: (Part) throws(Failure) -> FilterVerdict
  ) throws(Failure) -> FilterVerdict {
    var verdict = FilterVerdict.no
    for part in parts {
      verdict = verdict.or(try body(part))
      if verdict == .yes { break }
    }
    return verdict
  }

  fileprivate var negated: FilterVerdict {
    switch self {
    case .no: .yes
    case .yes: .no
    case .undecided: .undecided
    }
  }
}

/// The operands of a filter, in a form that values of one form are compared with: one, or those of a list.
protocol FilterOperands {
  /// The type class of the only operand.
  var typeClass: TypeClass { get }
  var haveNull: Bool { get }
}

/// A document's value of a field, in any form.
protocol FilteredValue: ~Escapable {
  associatedtype Operands: FilterOperands
  associatedtype Failure: Error

  var typeClass: TypeClass { get }
  /// False for null and NaN, which `in` and `arrayContainsAny` never match.
  var canBeListed: Bool { get }

  /// Compares with the only operand, which has the same type class. Nil if only decoded values can be
  /// compared.
  func compare(with operands: Operands) throws(Failure) -> Ordering?
  /// Whether the value equals one of the operands.
  func isAny(of operands: Operands) throws(Failure) -> FilterVerdict
  /// Whether this is an array with an element that equals one of the operands. `inList` excludes elements
  /// that cannot be listed.
  func hasAny(of operands: Operands, inList: Bool) throws(Failure) -> FilterVerdict
}

extension FieldFilter.Operator {
  /// Evaluates the operator on a value.
  @inline(__always)
  func verdict<Value: FilteredValue & ~Escapable>(
    of value: borrowing Value, _ operands: Value.Operands
  ) throws(Value.Failure) -> FilterVerdict {
    switch self {
    case .equal: return try value.isAny(of: operands)
    case .notEqual: return value.typeClass == .null ? .no : try value.isAny(of: operands).negated
    case .isIn: return value.canBeListed ? try value.isAny(of: operands) : .no
    case .notIn:
      return value.typeClass == .null || operands.haveNull ? .no : try value.isAny(of: operands).negated
    case .arrayContains: return try value.hasAny(of: operands, inList: false)
    case .arrayContainsAny: return try value.hasAny(of: operands, inList: true)
    case .lessThan: return try value.verdict(operands, accepting: { $0 == .before })
    case .lessThanOrEqual: return try value.verdict(operands, accepting: { $0 != .after })
    case .greaterThan: return try value.verdict(operands, accepting: { $0 == .after })
    case .greaterThanOrEqual: return try value.verdict(operands, accepting: { $0 != .before })
    }
  }
}

extension FilteredValue where Self: ~Escapable {
  @inline(__always)
  fileprivate func verdict(
    _ operands: Operands, accepting accepts: (Ordering) -> Bool
  ) throws(Failure) -> FilterVerdict {
    guard typeClass == operands.typeClass else { return .no }
    guard let order = try compare(with: operands) else { return .undecided }
    return accepts(order) ? .yes : .no
  }
}

// Values that are computed at the commit, from what is stored then.

/// A field and how to compute it.
public struct FieldTransform: Sendable, Equatable {
  /// What is computed from the value that is stored.
  public enum Operation: Sendable, Equatable {
    /// The time of the commit.
    case serverTimestamp
    /// The sum of the stored number and this one; this one, if no number is stored. Integers stop at the
    /// ends of their range.
    case increment(StoredNumber)
    /// The smaller number; this one, if no number is stored. The stored one keeps its type if both are
    /// equal, and NaN is the result if one of them is NaN.
    case minimum(StoredNumber)
    /// The larger number, by the same rules.
    case maximum(StoredNumber)
    /// The stored array, and after it those of these that are not in it, each once. What is no array
    /// counts as an empty one, here and below.
    case arrayUnion([StoredValue])
    /// The stored array without all that are equal to one of these.
    case arrayRemove([StoredValue])
  }

  /// Which field.
  public let field: StoredFieldPath
  /// What is computed.
  public let operation: Operation

  /// Computes a field when the write is committed.
  public init(_ field: StoredFieldPath, _ operation: Operation) {
    self.field = field
    self.operation = operation
  }

  /// Computes the field, and returns what a remote would answer: the new value, or null for an array.
  func apply(to fields: inout StoredMap, at time: StoredTimestamp) -> StoredValue {
    let value = operation.value(from: fields[field], at: time)
    fields.set(value, at: field)
    return operation.elements == nil ? value : .null
  }
}

extension FieldTransform.Operation {
  /// What the caller gave, as a value; null if that is nothing.
  var operand: StoredValue {
    switch self {
    case .serverTimestamp: .null
    case .increment(let number), .minimum(let number), .maximum(let number): number.value
    case .arrayUnion(let elements), .arrayRemove(let elements): .array(elements)
    }
  }

  /// What is added to or removed from an array; nil if no array is made.
  var elements: [StoredValue]? {
    switch self {
    case .arrayUnion(let elements), .arrayRemove(let elements): elements
    case .serverTimestamp, .increment, .minimum, .maximum: nil
    }
  }

  /// The value that takes the place of `stored`.
  package func value(from stored: StoredValue?, at time: StoredTimestamp) -> StoredValue {
    switch self {
    case .serverTimestamp: .timestamp(time)
    case .increment(let number): (stored.number?.adding(number) ?? number).value
    case .minimum(let number): (stored.number?.minimum(number) ?? number).value
    case .maximum(let number): (stored.number?.maximum(number) ?? number).value
    case .arrayUnion(let elements): .array(stored.array + elements.without(stored.array).withoutRepetition)
    case .arrayRemove(let elements): .array(stored.array.without(elements))
    }
  }
}

extension StoredValue? {
  fileprivate var number: StoredNumber? { flatMap(StoredNumber.init) }

  fileprivate var array: [StoredValue] {
    if case .array(let elements) = self { elements } else { [] }
  }
}

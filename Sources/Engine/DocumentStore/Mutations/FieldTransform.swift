// Field values that are computed at commit time from the stored value.

/// A field and the operation that computes its value.
public struct FieldTransform: Sendable, Equatable {
  /// An operation on the stored value.
  public enum Operation: Sendable, Equatable {
    /// The time of the commit.
    case serverTimestamp
    /// The sum of the stored number and this number, or this number if no number is stored. Integer sums
    /// saturate.
    case increment(StoredNumber)
    /// The smaller of the stored number and this number, or this number if no number is stored. If both are
    /// equal, the stored number is kept with its type. NaN if one of them is NaN.
    case minimum(StoredNumber)
    /// The larger of the stored number and this number, by the same rules as `minimum`.
    case maximum(StoredNumber)
    /// Appends each of these elements once, unless the stored array already contains it. A stored value that
    /// is not an array counts as an empty array, here and in `arrayRemove`.
    case arrayUnion([StoredValue])
    /// Removes all elements of the stored array that are equal to one of these elements.
    case arrayRemove([StoredValue])
  }

  /// The path of the field.
  public let field: StoredFieldPath
  /// The operation.
  public let operation: Operation

  /// Creates a transform that is computed when the write is committed.
  public init(_ field: StoredFieldPath, _ operation: Operation) {
    self.field = field
    self.operation = operation
  }

  /// Computes the new value and sets the field to it. Returns the transform result that a remote would
  /// return: the new value, or null for an operation on an array.
  func apply(to fields: inout StoredMap, at time: StoredTimestamp) -> StoredValue {
    let value = operation.value(from: fields[field], at: time)
    fields.set(value, at: field)
    return operation.elements == nil ? value : .null
  }
}

extension FieldTransform.Operation {
  /// The operand as a value; null if there is none.
  var operand: StoredValue {
    switch self {
    case .serverTimestamp: .null
    case .increment(let number), .minimum(let number), .maximum(let number): number.value
    case .arrayUnion(let elements), .arrayRemove(let elements): .array(elements)
    }
  }

  /// The elements to add or remove; nil if the operation is not on arrays.
  package var elements: [StoredValue]? {
    switch self {
    case .arrayUnion(let elements), .arrayRemove(let elements): elements
    case .serverTimestamp, .increment, .minimum, .maximum: nil
    }
  }

  /// The new value of a field with the value `stored`.
  package func value(from stored: StoredValue?, at time: StoredTimestamp) -> StoredValue {
    switch self {
    case .serverTimestamp: .timestamp(time)
    case .increment(let number): (stored.number?.adding(number) ?? number).value
    case .minimum(let number): (stored.number?.minimum(number) ?? number).value
    case .maximum(let number): (stored.number?.maximum(number) ?? number).value
    case .arrayUnion(let elements): .array(stored.array + elements.without(stored.array).deduplicated)
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

// The filters of a query.

private import DocumentStore
private import FirebaseCore

extension Query {
  /// Returns the query with `filter` as an additional condition.
  public func whereFilter(_ filter: Filter) -> Query { filtered(filter.condition) }

  /// The field exists and equals this value; 1 and 1.0 are equal. `NSNull()` and NaN are ordinary values.
  public func whereField(_ field: String, isEqualTo value: Any) -> Query {
    filtered(FieldPath.dotted(field), .equal, operand: value)
  }

  /// The field equals this value.
  public func whereField(_ path: FieldPath, isEqualTo value: Any) -> Query {
    filtered(path.stored, .equal, operand: value)
  }

  /// The field exists, is not null, and does not equal this value.
  public func whereField(_ field: String, isNotEqualTo value: Any) -> Query {
    filtered(FieldPath.dotted(field), .notEqual, operand: value)
  }

  /// The field exists, is not null, and does not equal this value.
  public func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Query {
    filtered(path.stored, .notEqual, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public func whereField(_ field: String, isLessThan value: Any) -> Query {
    filtered(FieldPath.dotted(field), .lessThan, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public func whereField(_ path: FieldPath, isLessThan value: Any) -> Query {
    filtered(path.stored, .lessThan, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Query {
    filtered(FieldPath.dotted(field), .lessThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Query {
    filtered(path.stored, .lessThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public func whereField(_ field: String, isGreaterThan value: Any) -> Query {
    filtered(FieldPath.dotted(field), .greaterThan, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Query {
    filtered(path.stored, .greaterThan, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> Query {
    filtered(FieldPath.dotted(field), .greaterThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public func whereField(_ path: FieldPath, isGreaterThanOrEqualTo value: Any) -> Query {
    filtered(path.stored, .greaterThanOrEqual, operand: value)
  }

  /// The field is an array with this element.
  public func whereField(_ field: String, arrayContains value: Any) -> Query {
    filtered(FieldPath.dotted(field), .arrayContains, operand: value)
  }

  /// The field is an array with this element.
  public func whereField(_ path: FieldPath, arrayContains value: Any) -> Query {
    filtered(path.stored, .arrayContains, operand: value)
  }

  /// The field is an array with at least one of these elements.
  public func whereField(_ field: String, arrayContainsAny values: [Any]) -> Query {
    filtered(FieldPath.dotted(field), .arrayContainsAny, operand: values)
  }

  /// The field is an array with at least one of these elements.
  public func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Query {
    filtered(path.stored, .arrayContainsAny, operand: values)
  }

  /// The field equals one of these values. Null and NaN in `values` match nothing.
  public func whereField(_ field: String, in values: [Any]) -> Query {
    filtered(FieldPath.dotted(field), .isIn, operand: values)
  }

  /// The field equals one of these values.
  public func whereField(_ path: FieldPath, in values: [Any]) -> Query {
    filtered(path.stored, .isIn, operand: values)
  }

  /// The field exists, is not null, and equals none of these values. If null is among them, no document
  /// matches.
  public func whereField(_ field: String, notIn values: [Any]) -> Query {
    filtered(FieldPath.dotted(field), .notIn, operand: values)
  }

  /// The field exists, is not null, and equals none of these values. If null is among them, no document
  /// matches.
  public func whereField(_ path: FieldPath, notIn values: [Any]) -> Query {
    filtered(path.stored, .notIn, operand: values)
  }

  private func filtered(
    _ field: StoredFieldPath, _ operator: FieldFilter.Operator, operand: Any
  ) -> Query {
    filtered(Filter(field, `operator`, operand: operand).condition)
  }

  private func filtered(_ condition: Filter.Condition) -> Query {
    if case .tooLarge(let leaves) = condition { return filtered(byLargeFilterOf: leaves) }
    let tree: FilterTree
    do throws(UserDataError) {
      tree = try condition.tree(in: firestore)
    } catch {
      ProgrammerError.report(error.message)
      return placeholder
    }
    // If all composites are empty, the query stays unchanged. A collection then remains a
    // `CollectionReference`.
    guard let tree = tree.simplified else { return self }
    let leaves = tree.leaves
    // The filter may have left the validation in which it was created.
    if leaves.contains(where: { $0.field == FieldPath.placeholder }) { return placeholder }
    return refined(adding: leaves.count) { query throws(DocumentStoreError) in
      try query.filtered(by: tree)
    } fill: { query throws(DocumentStoreError) in
      try query.filled(with: leaves)
    } exceed: { excess throws(DocumentStoreError) in
      try excess.adding(tree)
    }
  }

  /// Adds a filter without keeping its conditions. Placeholder conditions make the query too large to run.
  private func filtered(byLargeFilterOf leaves: Int) -> Query {
    let filter = FieldFilter(StoredFieldPath(unchecked: ["any"]), .equal, .null)
    return refined(adding: leaves) { query throws(DocumentStoreError) in
      query
    } fill: { query throws(DocumentStoreError) in
      try query.filled(with: Array(repeating: filter, count: min(leaves, QueryLimits().partsMax + 1)))
    } exceed: { excess throws(DocumentStoreError) in
      excess.addingLargeFilter(conditions: leaves)
    }
  }
}

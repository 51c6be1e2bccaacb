// The methods that build a query.
//
// Each method checks everything that can be checked at that point, and its errors have the messages of the
// Firestore API.

extension StructuredQuery {
  // MARK: Filters

  /// Adds a filter. A filter that consists of empty composites changes nothing.
  ///
  /// An operand on `StoredFieldPath.documentID` is a reference or a string. In a collection, the string is
  /// the id; in other scopes, it is the path.
  public func filtered(by filter: FilterTree) throws(DocumentStoreError) -> StructuredQuery {
    if case .field(let comparison) = filter, comparison.needsNoCheck {
      var query = self
      query.filters.append(filter)
      return query
    }
    guard let filter = try filter.simplified?.mapLeaves(resolve) else { return self }
    // Collect each operator only once, in filter order, because a composite can have many comparisons.
    var present: [FieldFilter.Operator] = []
    for leaf in filters.flatMap(\.leaves) where !present.contains(leaf.operator) {
      present.append(leaf.operator)
    }
    for leaf in filter.leaves {
      try check(leaf.operator, against: present)
      if !present.contains(leaf.operator) { present.append(leaf.operator) }
    }
    var query = self
    query.filters.append(filter)
    return query
  }

  private func check(
    _ added: FieldFilter.Operator, against present: [FieldFilter.Operator]
  ) throws(DocumentStoreError) {
    guard let conflict = present.first(where: added.conflicts) else { return }
    if conflict == added {
      throw .invalidArgument("Invalid Query. You cannot use more than one '\(added.rawValue)' filter.")
    }
    throw .invalidArgument(
      "Invalid Query. You cannot use '\(added.rawValue)' filters with '\(conflict.rawValue)' filters.")
  }

  /// Converts the operands of a filter on the document id to document names.
  private func resolve(_ filter: FieldFilter) throws(DocumentStoreError) -> FieldFilter {
    let name = filter.operator.rawValue
    if filter.field == .documentID, [.arrayContains, .arrayContainsAny].contains(filter.operator) {
      throw .invalidArgument(
        "Invalid query. You can't perform \(name) queries on document ID since document IDs are not arrays.")
    }
    if filter.list?.isEmpty == true {
      throw .invalidArgument("Invalid Query. A non-empty array is required for '\(name)' filters.")
    }
    guard filter.field == .documentID else { return filter }
    guard let list = filter.list else {
      return FieldFilter(filter.field, filter.operator, try documentName(filter.operand))
    }
    var names: [StoredValue] = []
    for operand in list { names.append(try documentName(operand)) }
    return FieldFilter(filter.field, filter.operator, .array(names))
  }

  private func documentName(_ operand: StoredValue) throws(DocumentStoreError) -> StoredValue {
    let asks = "Invalid query. When querying by document ID you must provide a valid"
    switch operand {
    case .reference(let reference):
      return .documentName(reference.path)
    case .string(""):
      throw .invalidArgument("\(asks) document ID, but it was an empty string.")
    case .string(let id):
      if case .collection(let collection) = scope {
        guard let path = collection.child(id) else {
          throw .invalidArgument(
            "Invalid query. When querying a collection by document ID you must provide a plain document ID, "
              + "but '\(id)' contains a '/' character.")
        }
        return .documentName(path)
      }
      guard let path = try Self.path(id) else {
        throw .invalidArgument(
          "Invalid query. When querying a collection group by document ID, the value provided must result in "
            + "a valid document path, but '\(id)' is not because it has an odd number of segments.")
      }
      return .documentName(path)
    default:
      throw .invalidArgument(
        "\(asks) string or DocumentReference, but it was of type: \(operand.typeClass)")
    }
  }

  /// The path of a document, or nil for the path of a collection. Ignores one slash at each end.
  private static func path(_ text: String) throws(DocumentStoreError) -> DocumentPath? {
    var segments = text.pathSegments
    if segments.first == "" { segments.removeFirst() }
    if segments.last == "" { segments.removeLast() }
    guard !segments.contains("") else {
      throw .invalidArgument("Invalid path (\(text)). Paths must not contain // in them.")
    }
    // Names are not validated, because even an invalid name has a position in the order.
    return segments.count % 2 == 0 ? DocumentPath(unchecked: segments) : nil
  }

  // MARK: Orders and limits

  /// Adds an order, which applies to documents that are equal in all previous orders.
  public func ordered(by order: OrderBy) throws(DocumentStoreError) -> StructuredQuery {
    let point = start != nil ? "a starting" : "an ending"
    guard start == nil, end == nil else {
      throw .invalidArgument(
        "Invalid query. You must not specify \(point) point before specifying the order by.")
    }
    var query = self
    query.explicitOrders.append(order)
    return query
  }

  /// Sets the limit, replacing an earlier one.
  public func limited(to limit: Limit) throws(DocumentStoreError) -> StructuredQuery {
    switch limit {
    case .first(let count), .last(let count):
      guard count > 0 else {
        throw .invalidArgument(
          "Invalid Query. Query limit (\(count)) is invalid. Limit must be positive.")
      }
    }
    var query = self
    query.limit = limit
    return query
  }

  /// Sets the number of results to skip, replacing an earlier one.
  package func skipping(_ count: Int) throws(DocumentStoreError) -> StructuredQuery {
    guard (0...Int(Int32.max)).contains(count) else {
      throw .invalidArgument(
        "Invalid Query. Query offset (\(count)) is invalid. An offset is between 0 and \(Int32.max).")
    }
    var query = self
    query.offset = count
    return query
  }

  // MARK: Cursors

  /// Sets the start before or after the documents with these values in the explicit orders. `.before` is
  /// Firestore's `start(at:)`, and `.after` is `start(after:)`.
  public func starting(
    _ side: Cursor.Side, _ values: [StoredValue]
  ) throws(DocumentStoreError) -> StructuredQuery {
    StructuredQuery(self, from: Cursor(side, try cursorValues(values)), to: end)
  }

  /// Sets the start before or after a document.
  public func starting(
    _ side: Cursor.Side, _ document: StoredDocument?
  ) throws(DocumentStoreError) -> StructuredQuery {
    StructuredQuery(self, from: Cursor(side, try cursorValues(document)), to: end)
  }

  /// Sets the end before or after the documents with these values in the explicit orders. `.after` is
  /// Firestore's `end(at:)`, and `.before` is `end(before:)`.
  public func ending(
    _ side: Cursor.Side, _ values: [StoredValue]
  ) throws(DocumentStoreError) -> StructuredQuery {
    StructuredQuery(self, from: start, to: Cursor(side, try cursorValues(values)))
  }

  /// Sets the end before or after a document.
  public func ending(
    _ side: Cursor.Side, _ document: StoredDocument?
  ) throws(DocumentStoreError) -> StructuredQuery {
    StructuredQuery(self, from: start, to: Cursor(side, try cursorValues(document)))
  }

  private func cursorValues(_ values: [StoredValue]) throws(DocumentStoreError) -> [StoredValue] {
    guard values.count <= explicitOrders.count else {
      throw .invalidArgument(
        "Invalid query. You are trying to start or end a query using more values than were specified in the "
          + "order by.")
    }
    guard explicitOrders[..<values.count].contains(where: { $0.field == .documentID }) else { return values }
    var resolved: [StoredValue] = []
    for (order, value) in zip(explicitOrders, values) {
      resolved.append(order.field == .documentID ? try cursorName(value) : value)
    }
    return resolved
  }

  private func cursorName(_ value: StoredValue) throws(DocumentStoreError) -> StoredValue {
    guard case .string(let id) = value else {
      throw .invalidArgument("Invalid query. Expected a string for the document ID.")
    }
    if case .collection(let collection) = scope {
      guard let path = collection.child(id) else {
        throw .invalidArgument(
          "Invalid query. When querying a collection and ordering by document ID, you must pass a plain "
            + "document ID, but '\(id)' contains a slash.")
      }
      return .documentName(path)
    }
    guard let path = try Self.path(id) else {
      throw .invalidArgument(
        "Invalid query. When querying a collection group and ordering by document ID, you must pass a value "
          + "that results in a valid document path, but '\(id)' is not because it contains an odd number of "
          + "segments.")
    }
    return .documentName(path)
  }

  private func cursorValues(_ document: StoredDocument?) throws(DocumentStoreError) -> [StoredValue] {
    let attempt = "Invalid query. You are trying to start or end a query using a document"
    guard let document else { throw .invalidArgument("\(attempt) that doesn't exist.") }
    var values: [StoredValue] = []
    for order in orders {
      guard let value = order.value(in: document) else {
        throw .invalidArgument(
          "\(attempt) for which the field '\(order.field)' (used as the order by) does not exist.")
      }
      if case .pendingTimestamp = value {
        throw .invalidArgument(
          "\(attempt) for which the field '\(order.field)' is an uncommitted server timestamp. (Since the value "
            + "of this field is unknown, you cannot start/end a query with it.)")
      }
      values.append(value)
    }
    return values
  }
}

extension FieldFilter {
  /// True for most filters: the operand is used as it is, and the operator conflicts with no other operator.
  fileprivate var needsNoCheck: Bool {
    switch self.operator {
    case .lessThan, .lessThanOrEqual, .equal, .greaterThanOrEqual, .greaterThan, .arrayContains:
      field != .documentID
    case .notEqual, .arrayContainsAny, .isIn, .notIn: false
    }
  }
}

extension FieldFilter.Operator {
  /// Whether a query must not have both a filter with this operator and a filter with `other`.
  fileprivate func conflicts(with other: FieldFilter.Operator) -> Bool {
    switch self {
    case .notEqual: [.notEqual, .notIn].contains(other)
    case .notIn: [.notIn, .notEqual, .isIn, .arrayContainsAny].contains(other)
    case .isIn, .arrayContainsAny: other == .notIn
    default: false
    }
  }
}

extension CollectionPath {
  /// The path of the document with this id in the collection; nil if the id has a slash. Invalid ids are
  /// accepted, because they also have a position in the order.
  fileprivate func child(_ id: String) -> DocumentPath? {
    guard !id.utf8.contains(UInt8(ascii: "/")) else { return nil }
    return DocumentPath(unchecked: segments + [id])
  }
}

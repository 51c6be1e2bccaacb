// Parses queries in the JSON of Firestore's protocol.
//
//   {"parent": name, "limitType": "FIRST" | "LAST", "structuredQuery": {"from": [{"collectionId",
//   "allDescendants"}],
//     "where": filter, "orderBy": [{"field", "direction"}], "limit", "startAt": cursor, "endAt": cursor}}

import DocumentStore
private import Foundation

enum BundleQuery {
  static func query(_ json: [String: Any], _ values: BundleValues) throws(BundleError) -> StructuredQuery {
    guard let structured = json["structuredQuery"] as? [String: Any] else {
      throw BundleError("The bundle has a query without content.")
    }
    let parent = try values.segments(json["parent"])
    do throws(DocumentStoreError) {
      var query = StructuredQuery(try scope(structured, parent).get())
      let orders = structured["orderBy"] as? [[String: Any]] ?? []
      var partCount = orders.count
      if let filter = structured["where"] as? [String: Any] {
        let filter = try self.filter(filter, values).get()
        partCount += filter.leaves.count
        // The count is checked before the query is built, because each step of building copies the query.
        try checkCount(partCount)
        query = try query.filtered(by: filter)
      }
      try checkCount(partCount)
      for order in orders {
        query = try query.ordered(by: try self.order(order).get())
      }
      if let start = structured["startAt"] as? [String: Any] {
        let isBefore = start["before"] as? Bool ?? false
        query = try query.starting(
          isBefore ? .before : .after, try cursor(start, query, values: values).get())
      }
      if let end = structured["endAt"] as? [String: Any] {
        let isBefore = end["before"] as? Bool ?? false
        query = try query.ending(isBefore ? .before : .after, try cursor(end, query, values: values).get())
      }
      if let limit = limit(structured["limit"]) {
        query = try query.limited(to: json["limitType"] as? String == "LAST" ? .last(limit) : .first(limit))
      }
      if case .last = query.limit, query.explicitOrders.isEmpty {
        throw .invalidArgument("it has a limit of the type LAST and no order")
      }
      return query
    } catch {
      throw BundleError("The bundle has an invalid query: \(error)")
    }
  }

  private static func checkCount(_ partCount: Int) throws(DocumentStoreError) {
    let limit = QueryLimits().partsMax
    guard partCount > limit else { return }
    throw .invalidArgument("it has \(partCount) filters and orders, and the limit is \(limit)")
  }

  /// A parsed part of the query. Its error is converted to the engine's error type, so that all steps throw
  /// the same type.
  private typealias Part<Value> = Result<Value, DocumentStoreError>

  private static func part<Value>(_ body: () throws(BundleError) -> Value) -> Part<Value> {
    do throws(BundleError) { return .success(try body()) } catch {
      return .failure(.invalidArgument(error.message))
    }
  }

  private static func scope(_ json: [String: Any], _ parent: [String]) -> Part<StructuredQuery.Scope> {
    part { () throws(BundleError) in
      guard let from = (json["from"] as? [[String: Any]])?.first, let id = from["collectionId"] as? String
      else { throw BundleError("it has no collection") }
      if from["allDescendants"] as? Bool ?? false {
        guard parent.isEmpty else { throw BundleError("it is about a collection group below a document") }
        return .collectionGroup(id)
      }
      guard let path = try? CollectionPath(parent + [id]) else {
        throw BundleError("it has no collection")
      }
      return .collection(path)
    }
  }

  private static func filter(_ json: [String: Any], _ values: BundleValues) -> Part<FilterTree> {
    part { () throws(BundleError) in try tree(json, values, depth: 0) }
  }

  private static func tree(
    _ json: [String: Any], _ values: BundleValues, depth: Int
  ) throws(BundleError) -> FilterTree {
    guard depth < 20 else { throw BundleError("its filters are nested too deeply") }
    if let composite = json["compositeFilter"] as? [String: Any] {
      var parts: [FilterTree] = []
      for filter in composite["filters"] as? [[String: Any]] ?? [] {
        parts.append(try tree(filter, values, depth: depth + 1))
      }
      return composite["op"] as? String == "OR" ? .any(parts) : .all(parts)
    }
    if let unary = json["unaryFilter"] as? [String: Any] {
      let path = try field(unary["field"])
      switch unary["op"] as? String {
      case "IS_NULL": return .field(path, .equal, .null)
      case "IS_NAN": return .field(path, .equal, .double(.nan))
      case "IS_NOT_NULL": return .field(path, .notEqual, .null)
      case "IS_NOT_NAN": return .field(path, .notEqual, .double(.nan))
      default: throw BundleError("it has an unknown operator")
      }
    }
    guard let leaf = json["fieldFilter"] as? [String: Any],
      let name = leaf["op"] as? String, let `operator` = operators[name]
    else { throw BundleError("it has an unknown filter") }
    let operand = try values.value(leaf["value"])
    if `operator`.takesList, case .array = operand {
    } else if `operator`.takesList {
      throw BundleError("it has an invalid list")
    }
    return .field(try field(leaf["field"]), `operator`, operand)
  }

  private static let operators: [String: FieldFilter.Operator] = [
    "LESS_THAN": .lessThan, "LESS_THAN_OR_EQUAL": .lessThanOrEqual, "EQUAL": .equal, "NOT_EQUAL": .notEqual,
    "GREATER_THAN": .greaterThan, "GREATER_THAN_OR_EQUAL": .greaterThanOrEqual,
    "ARRAY_CONTAINS": .arrayContains, "ARRAY_CONTAINS_ANY": .arrayContainsAny, "IN": .isIn, "NOT_IN": .notIn,
  ]

  private static func field(_ json: Any?) throws(BundleError) -> StoredFieldPath {
    guard let text = (json as? [String: Any])?["fieldPath"] as? String,
      let path = try? StoredFieldPath(canonical: text)
    else { throw BundleError("it has a field without a path") }
    return path
  }

  private static func order(_ json: [String: Any]) -> Part<OrderBy> {
    part { () throws(BundleError) in
      OrderBy(
        try field(json["field"]), json["direction"] as? String == "DESCENDING" ? .descending : .ascending)
    }
  }

  /// Parses a cursor. Document names are converted to IDs or paths, because cursors contain those.
  private static func cursor(
    _ json: [String: Any], _ query: StructuredQuery, values: BundleValues
  ) -> Part<[StoredValue]> {
    part { () throws(BundleError) in
      var operands: [StoredValue] = []
      let orders = query.explicitOrders
      for (index, json) in (json["values"] as? [Any] ?? []).enumerated() {
        let value = try values.value(json)
        if index < orders.count, orders[index].field == .documentID, case .reference(let reference) = value {
          if case .collection = query.scope {
            operands.append(.string(reference.path.id))
          } else {
            operands.append(.string(reference.path.description))
          }
        } else {
          operands.append(value)
        }
      }
      return operands
    }
  }

  private static func limit(_ json: Any?) -> Int? {
    (json as? NSNumber)?.intValue ?? ((json as? [String: Any])?["value"] as? NSNumber)?.intValue
  }
}

// Encodes values, documents and queries as JSON of Firestore's REST API.

import DocumentStore
import Foundation

/// Writes JSON as text, so that numbers keep every digit and minus zero keeps its sign.
struct EmulatorJSON {
  /// For example `projects/p1/databases/(default)`.
  let database: String

  func name(_ path: DocumentPath) -> String { "\(database)/documents/\(path)" }

  // MARK: Values

  func value(_ value: StoredValue) -> String {
    switch value {
    case .null: #"{"nullValue":null}"#
    case .boolean(let value): #"{"booleanValue":\#(value)}"#
    case .integer(let value): #"{"integerValue":"\#(value)"}"#
    case .double(let value): #"{"doubleValue":\#(Self.number(value))}"#
    case .timestamp(let value): #"{"timestampValue":"\#(Self.text(value))"}"#
    case .pendingTimestamp(let value, _):
      self.value(
        .map(
          StoredMap([
            ("__type__", .string("server_timestamp")), ("__local_write_time__", .timestamp(value)),
          ])))
    case .string(let value): #"{"stringValue":\#(Self.string(value))}"#
    case .bytes(let value): #"{"bytesValue":"\#(Data(value).base64EncodedString())"}"#
    case .reference(let value): #"{"referenceValue":\#(Self.string(name(value)))}"#
    case .geoPoint(let value):
      #"{"geoPointValue":{"latitude":\#(Self.number(value.latitude)),"longitude":\#(Self.number(value.longitude))}}"#
    case .array(let values):
      #"{"arrayValue":{"values":[\#(values.map(self.value).joined(separator: ","))]}}"#
    case .vector(let values):
      self.value(
        .map(
          StoredMap([
            ("__type__", .string("__vector__")), ("value", .array(values.map(StoredValue.double))),
          ])))
    case .map(let map): #"{"mapValue":{"fields":\#(fields(map))}}"#
    }
  }

  func fields(_ map: StoredMap) -> String {
    "{" + map.entries.map { "\(Self.string($0.name)):\(value($0.value))" }.joined(separator: ",") + "}"
  }

  /// Returns the full name of a reference. A reference without a project belongs to this database.
  private func name(_ reference: StoredReference) -> String {
    reference.projectID.isEmpty
      ? name(reference.path)
      : "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }

  static func number(_ value: Double) -> String {
    if value.isNaN { return #""NaN""# }
    if value.isInfinite { return value < 0 ? #""-Infinity""# : #""Infinity""# }
    return "\(value)"
  }

  private static func text(_ time: StoredTimestamp) -> String {
    let formatter = ISO8601DateFormatter()
    let date = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(time.seconds)))
    let fraction = String(String(1_000_000 + time.nanoseconds / 1000).dropFirst())
    return "\(date.dropLast()).\(fraction)Z"
  }

  static func string(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": json += "\\\""
      case "\\": json += "\\\\"
      case _ where scalar.value < 0x20:
        json += "\\u" + String(String(0x10000 + scalar.value, radix: 16).dropFirst())
      default: json.unicodeScalars.append(scalar)
      }
    }
    return json + "\""
  }

  // MARK: Writes and queries

  func write(_ document: StoredDocument) -> String {
    #"{"update":{"name":\#(Self.string(name(document.path))),"fields":\#(fields(document.fields))}}"#
  }

  /// Encodes a query as client libraries do: a query with a limit on the last documents is sent in reverse
  /// order.
  func query(_ query: StructuredQuery) -> String {
    let run = query.executableForm
    var parts = [#""from":[\#(scope(run.scope))]"#]
    if !run.filters.isEmpty { parts.append(#""where":\#(filter(.all(run.filters)))"#) }
    let orders = run.start == nil && run.end == nil && run == query ? run.explicitOrders : run.orders
    if !orders.isEmpty {
      parts.append(#""orderBy":[\#(orders.map(order).joined(separator: ","))]"#)
    }
    if let start = run.start {
      parts.append(#""startAt":\#(cursor(start, isBefore: start.side == .before))"#)
    }
    if let end = run.end { parts.append(#""endAt":\#(cursor(end, isBefore: end.side == .before))"#) }
    if case .first(let count) = run.limit { parts.append(#""limit":\#(count)"#) }
    return "{" + parts.joined(separator: ",") + "}"
  }

  /// Returns the document that contains the query's collection; nil if there is none.
  static func parent(of query: StructuredQuery) -> DocumentPath? {
    if case .collection(let collection) = query.scope { collection.parent } else { nil }
  }

  private func scope(_ scope: StructuredQuery.Scope) -> String {
    switch scope {
    case .collection(let path): #"{"collectionId":\#(Self.string(path.id))}"#
    case .collectionGroup(let id): #"{"collectionId":\#(Self.string(id)),"allDescendants":true}"#
    case .document: preconditionFailure("a document is not asked for by a query")
    }
  }

  private func order(_ order: OrderBy) -> String {
    #"{"field":\#(field(order.field)),"direction":"\#(order.direction == .ascending ? "ASCENDING" : "DESCENDING")"}"#
  }

  private func cursor(_ cursor: Cursor, isBefore: Bool) -> String {
    #"{"values":[\#(cursor.values.map(value).joined(separator: ","))],"before":\#(isBefore)}"#
  }

  private func field(_ field: StoredFieldPath) -> String {
    #"{"fieldPath":\#(Self.string(field.canonical))}"#
  }

  private func filter(_ tree: FilterTree) -> String {
    switch tree {
    case .field(let filter): fieldFilter(filter)
    case .all(let parts): composite("AND", parts)
    case .any(let parts): composite("OR", parts)
    }
  }

  private func composite(_ kind: String, _ parts: [FilterTree]) -> String {
    if parts.count == 1 { return filter(parts[0]) }
    return #"{"compositeFilter":{"op":"\#(kind)","filters":[\#(parts.map(filter).joined(separator: ","))]}}"#
  }

  private func fieldFilter(_ filter: FieldFilter) -> String {
    if let kind = unary(filter) {
      return #"{"unaryFilter":{"op":"\#(kind)","field":\#(field(filter.field))}}"#
    }
    let kind =
      switch filter.operator {
      case .lessThan: "LESS_THAN"
      case .lessThanOrEqual: "LESS_THAN_OR_EQUAL"
      case .equal: "EQUAL"
      case .notEqual: "NOT_EQUAL"
      case .greaterThanOrEqual: "GREATER_THAN_OR_EQUAL"
      case .greaterThan: "GREATER_THAN"
      case .arrayContains: "ARRAY_CONTAINS"
      case .arrayContainsAny: "ARRAY_CONTAINS_ANY"
      case .isIn: "IN"
      case .notIn: "NOT_IN"
      }
    return
      #"{"fieldFilter":{"op":"\#(kind)","field":\#(field(filter.field)),"value":\#(value(filter.operand))}}"#
  }

  /// Encodes comparisons with null and NaN as client libraries do.
  private func unary(_ filter: FieldFilter) -> String? {
    let isNaN = if case .double(let number) = filter.operand { number.isNaN } else { false }
    let isNull = if case .null = filter.operand { true } else { false }
    switch filter.operator {
    case .equal where isNaN: return "IS_NAN"
    case .equal where isNull: return "IS_NULL"
    case .notEqual where isNaN: return "IS_NOT_NAN"
    case .notEqual where isNull: return "IS_NOT_NULL"
    default: return nil
    }
  }
}

// Formats documents as readable text.

import DocumentStore
import Foundation

enum DocumentText {
  static func text(of document: StoredDocument) -> String {
    var lines = [Terminal.emphasised(PathText.printed(document.path.segments))]
    append(document.fields, indent: "  ", to: &lines)
    lines.append("created \(text(of: document.createTime)), updated \(text(of: document.updateTime))")
    return lines.joined(separator: "\n")
  }

  static func text(of time: StoredTimestamp) -> String {
    var fields = tm()
    var whole = time_t(time.seconds)
    gmtime_r(&whole, &fields)
    return String(
      format: "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", Int(fields.tm_year) + 1900, fields.tm_mon + 1,
      fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec, Int(time.nanoseconds / 1000))
  }

  private static func append(_ map: StoredMap, indent: String, to lines: inout [String]) {
    for (name, value) in map.entries { append(ShownText.escaped(name), value, indent: indent, to: &lines) }
  }

  private static func append(
    _ label: String, _ value: StoredValue, indent: String, to lines: inout [String]
  ) {
    switch value {
    case .map(let map) where !map.isEmpty:
      lines.append("\(indent)\(label):")
      append(map, indent: indent + "  ", to: &lines)
    case .array(let elements) where !elements.isEmpty:
      lines.append("\(indent)\(label):")
      for (index, element) in elements.enumerated() {
        append("[\(index)]", element, indent: indent + "  ", to: &lines)
      }
    default:
      lines.append("\(indent)\(label): \(text(of: value))")
    }
  }

  /// Formats any value on one line.
  static func cell(of value: StoredValue) -> String {
    switch value {
    case .string(let text): ShownText.escaped(text)
    case .array(let values): "[" + values.map(text).joined(separator: ", ") + "]"
    case .map(let map):
      "{"
        + map.entries.map { "\(ShownText.escaped($0.name)): \(text(of: $0.value))" }.joined(separator: ", ")
        + "}"
    default: text(of: value)
    }
  }

  private static func text(of value: StoredValue) -> String {
    switch value {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): value.isNaN ? "nan" : "\(value)"
    case .timestamp(let value): text(of: value)
    case .pendingTimestamp(let value, _): "pending since \(text(of: value))"
    // In the form of a query's string literal.
    case .string(let value): value.json.description
    case .bytes(let value): Wording.count(value.count, "byte")
    case .reference(let value): "-> \(ShownText.escaped(value.path.description))"
    case .geoPoint(let value): "\(value.latitude), \(value.longitude)"
    case .array(let values): values.isEmpty ? "[]" : "[\(Wording.count(values.count, "value"))]"
    case .vector(let values): "vector of \(values.count)"
    case .map(let map): map.isEmpty ? "{}" : "{\(Wording.count(map.entries.count, "field"))}"
    }
  }
}

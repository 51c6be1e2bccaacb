// Formats documents as CSV. Only the types of the values are lost.

import DocumentStore
import Foundation

enum CSV {
  static func row(_ cells: [String]) -> String { cells.map(quoted).joined(separator: ",") }

  /// Quotes a cell that contains a comma, a quote or a line break (RFC 4180), or begins or ends with a blank,
  /// which readers drop. Compares bytes, because a quote with a combining mark is one `Character` in Swift,
  /// but a CSV reader sees a quote.
  static func quoted(_ cell: String) -> String {
    guard cell.utf8.contains(where: needsQuotes) || isBlank(cell.utf8.first) || isBlank(cell.utf8.last) else {
      return cell
    }
    var text = "\""
    for scalar in cell.unicodeScalars {
      if scalar == "\"" { text.unicodeScalars.append(scalar) }
      text.unicodeScalars.append(scalar)
    }
    text.unicodeScalars.append("\"")
    return text
  }

  private static func isBlank(_ byte: UInt8?) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func needsQuotes(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
    default: false
    }
  }

  /// Formats a complete value, on one line unless its text has line breaks.
  static func cell(_ value: StoredValue) -> String {
    switch value {
    case .string(let text): text
    case .null, .boolean, .integer, .double: DocumentText.cell(of: value)
    case .timestamp(let time), .pendingTimestamp(let time, _): DocumentText.text(of: time)
    case .bytes(let bytes): Data(bytes).base64EncodedString()
    case .reference(let reference): reference.path.description
    case .geoPoint(let point): "\(point.latitude),\(point.longitude)"
    case .array, .vector, .map: json(of: value).description
    }
  }

  private static func json(of value: StoredValue) -> JSON {
    switch value {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .integer(let value): .number("\(value)")
    case .double(let value): value.json
    case .array(let values): .array(values.map(json))
    case .vector(let values): .array(values.map(\.json))
    case .map(let map): .object(map.entries.map { JSON.Member(name: $0.name, value: json(of: $0.value)) })
    case .string, .timestamp, .pendingTimestamp, .bytes, .reference, .geoPoint: .string(cell(value))
    }
  }
}

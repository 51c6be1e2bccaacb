// Values in the form that `dugout set` reads.

import DocumentStore
import Foundation

enum ValueLiteral {
  /// Formats the value completely, on one line.
  static func text(of value: StoredValue) -> String {
    switch value {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): number(value)
    case .timestamp(let value): "timestamp(\"\(DocumentText.text(of: value))\")"
    case .pendingTimestamp(let value, _): "a timestamp that is pending since \(DocumentText.text(of: value))"
    case .string(let value): value.json.description
    case .bytes(let value): "bytes(\"\(Data(value).base64EncodedString())\")"
    case .reference(let value): "ref(\(path(of: value).json))"
    case .geoPoint(let value): "geo(\(number(value.latitude)), \(number(value.longitude)))"
    case .array(let values): "[" + values.map(text).joined(separator: ", ") + "]"
    case .vector(let values): "vector(" + values.map(number).joined(separator: ", ") + ")"
    case .map(let map):
      "{" + map.entries.map { "\(name($0.name)): \(text(of: $0.value))" }.joined(separator: ", ") + "}"
    }
  }

  private static func name(_ name: String) -> String {
    ShownText.escaped(StoredFieldPath.canonical([name]))
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "nan" }
    if value.isInfinite { return value < 0 ? "-infinity" : "infinity" }
    return "\(value)"
  }

  private static func path(of reference: StoredReference) -> String {
    guard !reference.projectID.isEmpty || !reference.databaseID.isEmpty else {
      return reference.path.description
    }
    return "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }

  /// Shortens two texts that differ, so that both fit in `room` columns and their first difference is shown.
  static func shortened(_ before: String, _ after: String, toColumns room: Int) -> (String, String) {
    let (left, right) = (before.columns, after.columns)
    guard left + right > room else { return (before, after) }
    let half = room / 2
    // A short text leaves room to the other.
    let rooms = left <= half ? (left, room - left) : right <= half ? (room - right, right) : (half, half)
    let same = zip(before, after).prefix { $0 == $1 }.count
    // Enough of the equal start to find the place.
    let cut = max(0, same - 6)
    func part(_ text: String, _ room: Int) -> String {
      guard text.columns > room else { return text }
      return (cut > room / 2 ? "…" + text.dropFirst(cut) : text).shortened(toColumns: room)
    }
    return (part(before, rooms.0), part(after, rooms.1))
  }
}

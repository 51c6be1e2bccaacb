// A document for programs: every value says its type, as in Firestore's own REST form.

import DocumentStore
import Foundation

enum DocumentJSON {
  static func object(of document: StoredDocument) -> [String: Any] {
    [
      "path": document.path.description,
      "createTime": DocumentText.text(of: document.createTime),
      "updateTime": DocumentText.text(of: document.updateTime),
      "fields": object(of: document.fields),
    ]
  }

  private static func object(of map: StoredMap) -> [String: Any] {
    Dictionary(map.entries.map { ($0.name, object(of: $0.value)) }) { $1 }
  }

  static func object(of value: StoredValue) -> [String: Any] {
    switch value {
    case .null: ["nullValue": NSNull()]
    case .boolean(let value): ["booleanValue": value]
    // As text: many readers of JSON round large integers.
    case .integer(let value): ["integerValue": "\(value)"]
    case .double(let value): ["doubleValue": number(value)]
    case .timestamp(let value): ["timestampValue": DocumentText.text(of: value)]
    case .pendingTimestamp(let value, _): ["pendingTimestampValue": DocumentText.text(of: value)]
    case .string(let value): ["stringValue": value]
    case .bytes(let value): ["bytesValue": Data(value).base64EncodedString()]
    case .reference(let value): ["referenceValue": text(of: value)]
    case .geoPoint(let value):
      ["geoPointValue": ["latitude": value.latitude, "longitude": value.longitude]]
    case .array(let values): ["arrayValue": ["values": values.map(object(of:))]]
    case .vector(let values): ["vectorValue": values.map(number)]
    case .map(let map): ["mapValue": ["fields": object(of: map)]]
    }
  }

  /// JSON has no words for these three.
  private static func number(_ value: Double) -> Any {
    if value.isNaN { return "NaN" }
    return value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : value
  }

  private static func text(of reference: StoredReference) -> String {
    "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }
}

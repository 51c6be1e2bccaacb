// Plain JSON of values: without types, as other programs write and read it.
//
//   integer, double     a number; "NaN", "Infinity" and "-Infinity" are strings
//   timestamp           a string in RFC 3339
//   bytes, reference    a string: Base64, and the document's path
//   geo point           {"latitude": …, "longitude": …}
//   vector              a list of numbers

import DocumentStore
import Foundation

enum PlainJSON {
  static func json(of value: StoredValue) -> JSON {
    switch value {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .integer(let value): .number("\(value)")
    // A double keeps its fraction, so that it is read as a double.
    case .double(let value): value.isFinite ? .number(value.description) : value.json
    case .timestamp(let time), .pendingTimestamp(let time, _): .string(DocumentText.text(of: time))
    case .string(let text): .string(text)
    case .bytes(let bytes): .string(Data(bytes).base64EncodedString())
    case .reference(let reference): .string(reference.path.description)
    case .geoPoint(let point): ["latitude": point.latitude, "longitude": point.longitude]
    case .array(let values): .array(values.map(json))
    case .vector(let values): .array(values.map(\.json))
    case .map(let map): object(of: map)
    }
  }

  static func object(of map: StoredMap) -> JSON {
    .object(map.entries.map { JSON.Member(name: $0.name, value: json(of: $0.value)) })
  }
}

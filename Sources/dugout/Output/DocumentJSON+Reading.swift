// Documents from JSON, in the form that DocumentJSON writes.

import DocumentStore
import Foundation

/// What is wrong with a document's JSON, and in which field.
struct JSONProblem: Error, CustomStringConvertible {
  var message: String
  var field: [String] = []

  var description: String {
    field.isEmpty ? message : "in the field \(StoredFieldPath.canonical(field)): \(message)"
  }

  func inside(_ name: String) -> JSONProblem { JSONProblem(message: message, field: [name] + field) }
}

extension DocumentJSON {
  /// `{"path": …, "fields": {…}}`; what else there is, such as times, is left alone. Firestore's own
  /// `"name": "projects/…/documents/…"` does for the path, and its vectors are maps.
  static func document(_ line: Data) throws(JSONProblem) -> (path: DocumentPath, fields: StoredMap) {
    guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else {
      throw JSONProblem(message: "the line is no JSON object")
    }
    guard let text = object["path"] as? String ?? (object["name"] as? String).flatMap(relativePath) else {
      throw JSONProblem(message: "there is no \"path\"")
    }
    let path: DocumentPath
    do { path = try DocumentPath(text.pathSegments) } catch { throw JSONProblem(message: "\(error)") }
    guard let fields = part("fields", of: object, orElse: [String: Any]()) else {
      throw JSONProblem(message: "\"fields\" is no object")
    }
    return (path, try map(fields))
  }

  private static func relativePath(_ name: String) -> String? {
    name.firstRange(of: "/documents/").map { String(name[$0.upperBound...]) }
  }

  private static func map(_ object: [String: Any]) throws(JSONProblem) -> StoredMap {
    var entries: [(name: String, value: StoredValue)] = []
    for (name, value) in object {
      do throws(JSONProblem) { entries.append((name, try self.value(value))) } catch {
        throw error.inside(name)
      }
    }
    return StoredMap(entries)
  }

  private static func value(_ any: Any) throws(JSONProblem) -> StoredValue {
    guard let object = any as? [String: Any], object.count == 1, let (type, content) = object.first else {
      throw JSONProblem(message: "a value is an object with its type, such as {\"stringValue\": \"a\"}")
    }
    guard let value = try value(type, content) else {
      throw JSONProblem(message: "\(content) is no \(type)")
    }
    return value
  }

  private static func value(_ type: String, _ content: Any) throws(JSONProblem) -> StoredValue? {
    switch type {
    case "nullValue": return .null
    case "booleanValue": return (content as? Bool).map { .boolean($0) }
    case "integerValue": return integer(content).map { .integer($0) }
    case "doubleValue": return double(content).map { .double($0) }
    case "timestampValue": return (content as? String).flatMap(TimestampText.parse).map { .timestamp($0) }
    case "stringValue": return (content as? String).map { .string($0) }
    case "bytesValue":
      return (content as? String).flatMap { Data(base64Encoded: $0) }.map { .bytes([UInt8]($0)) }
    case "referenceValue": return (content as? String).flatMap(reference).map { .reference($0) }
    case "geoPointValue":
      let place = content as? [String: Any]
      return StoredGeoPoint(
        latitude: place?["latitude"].flatMap(double) ?? 0, longitude: place?["longitude"].flatMap(double) ?? 0
      ).map { .geoPoint($0) }
    case "vectorValue":
      guard let list = content as? [Any] else { return nil }
      let numbers = list.compactMap(double)
      return numbers.count == list.count ? .vector(numbers) : nil
    case "arrayValue":
      guard let object = content as? [String: Any], let list = part("values", of: object, orElse: [Any]())
      else {
        return nil
      }
      var values: [StoredValue] = []
      for element in list { values.append(try value(element)) }
      return .array(values)
    case "mapValue":
      guard let object = content as? [String: Any],
        let fields = part("fields", of: object, orElse: [String: Any]())
      else { return nil }
      return VectorMap.value(of: try map(fields))
    default:
      throw JSONProblem(message: "there is no type \"\(type)\"")
    }
  }

  /// What may be left out where it is empty; nil if it is something else.
  private static func part<Part>(_ name: String, of object: [String: Any], orElse empty: Part) -> Part? {
    object[name].map { $0 as? Part } ?? empty
  }

  private static func integer(_ content: Any) -> Int64? {
    if let text = content as? String { return Int64(text) }
    return (content as? NSNumber).flatMap { Int64(exactly: $0.doubleValue) == nil ? nil : $0.int64Value }
  }

  private static func double(_ content: Any) -> Double? {
    if let number = content as? NSNumber { return number.doubleValue }
    switch content as? String {
    case "NaN": return .nan
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    default: return nil
    }
  }

  private static func reference(_ text: String) -> StoredReference? {
    let parts = text.pathSegments
    guard parts.count > 5, parts[0] == "projects", parts[2] == "databases", parts[4] == "documents",
      let path = try? DocumentPath(Array(parts[5...]))
    else { return nil }
    return StoredReference(projectID: parts[1], databaseID: parts[3], path: path)
  }
}

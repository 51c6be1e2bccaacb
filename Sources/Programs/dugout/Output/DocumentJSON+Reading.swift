// Reads documents from the JSON format that DocumentJSON writes.

import DocumentStore
import Foundation

/// A problem in the JSON of a document, with the field that has it.
struct JSONProblem: Error, CustomStringConvertible {
  var message: String
  var field: [String] = []
  /// A guess at what the user meant.
  var hint: String?

  var description: String {
    field.isEmpty ? message : "in the field \(StoredFieldPath.canonical(field)): \(message)"
  }

  func inside(_ name: String) -> JSONProblem {
    JSONProblem(message: message, field: [name] + field, hint: hint)
  }
}

extension DocumentJSON {
  /// Reads `{"path": …, "fields": {…}}` and ignores other members, such as times. Also accepts two forms of
  /// Firestore: the path as `"name": "projects/…/documents/…"`, and vectors encoded as maps. Returns nil for
  /// the store's own documents, which earlier exports contain.
  static func document(_ line: Data) throws(JSONProblem) -> (path: DocumentPath, fields: StoredMap)? {
    let object: JSON
    do { object = try JSONReader.read(line) } catch {
      throw JSONProblem(message: "the line is not a JSON object: \(error) of it")
    }
    guard object.members != nil else { throw JSONProblem(message: "the line is not a JSON object") }
    guard let text = object["path"]?.text ?? (object["name"]?.text).flatMap(relativePath) else {
      throw JSONProblem(message: "there is no \"path\", such as \"users/ada\"")
    }
    let segments = text.pathSegments
    guard segments.count % 2 == 1 || !DocumentPath(unchecked: segments).isReserved else { return nil }
    let path: DocumentPath
    do { path = try DocumentPath(segments) } catch { throw JSONProblem(message: "\(error)") }
    // A document without fields is valid. But if the line has an unknown member instead of `fields`, the line
    // is a mistake.
    if object["fields"] == nil, let other = object.members?.first(where: { !known.contains($0.name) }) {
      throw JSONProblem(
        message: "there are no \"fields\", and \"\(other.name)\" says nothing: fields look like "
          + "{\"path\": \"users/ada\", \"fields\": {\"age\": {\"integerValue\": \"36\"}}}")
    }
    guard let fields = (object["fields"] ?? [:]).members else {
      throw JSONProblem(message: "\"fields\" is not an object")
    }
    let map = try map(fields)
    try checkPrevious(in: map, of: path)
    return (path, map)
  }

  /// The members that a line without fields may have.
  private static let known = ["path", "name", "createTime", "updateTime", "readTime"]

  private static func relativePath(_ name: String) -> String? {
    name.firstRange(of: "/documents/").map { String(name[$0.upperBound...]) }
  }

  private static func map(_ members: [JSON.Member]) throws(JSONProblem) -> StoredMap {
    var entries: [(name: String, value: StoredValue)] = []
    for member in members {
      do throws(JSONProblem) { entries.append((member.name, try value(member.value))) } catch {
        throw error.inside(member.name)
      }
    }
    return StoredMap(entries)
  }

  private static func value(_ json: JSON) throws(JSONProblem) -> StoredValue {
    if let pending = try pendingTimestamp(json) { return pending }
    guard let members = json.members, members.count == 1 else {
      throw JSONProblem(message: "a value is an object with its type, such as {\"stringValue\": \"a\"}")
    }
    let (type, content) = (members[0].name, members[0].value)
    guard let value = try value(type, content) else {
      throw JSONProblem(message: "\(content.text ?? content.description) is not of type \(type)")
    }
    return value
  }

  private static func value(_ type: String, _ content: JSON) throws(JSONProblem) -> StoredValue? {
    switch type {
    case "nullValue": return .null
    case "booleanValue":
      if case .boolean(let value) = content { return .boolean(value) }
      return nil
    case "integerValue": return integer(content).map { .integer($0) }
    case "doubleValue": return double(content).map { .double($0) }
    case "timestampValue": return content.text.flatMap(TimestampText.parse).map { .timestamp($0) }
    case "stringValue": return content.text.map { .string($0) }
    case "bytesValue":
      return content.text.flatMap { Data(base64Encoded: $0) }.map { .bytes([UInt8]($0)) }
    case "referenceValue": return content.text.flatMap(reference).map { .reference($0) }
    case "geoPointValue":
      // A coordinate of zero may be missing.
      guard content.members?.allSatisfy({ ["latitude", "longitude"].contains($0.name) }) == true,
        let latitude = double(content["latitude"] ?? .number("0")),
        let longitude = double(content["longitude"] ?? .number("0"))
      else { return nil }
      return StoredGeoPoint(latitude: latitude, longitude: longitude).map { .geoPoint($0) }
    case "vectorValue":
      guard let list = content.elements else { return nil }
      let numbers = list.compactMap(double)
      return numbers.count == list.count ? .vector(numbers) : nil
    case "arrayValue":
      guard content.members != nil, let list = (content["values"] ?? .array([])).elements else { return nil }
      var values: [StoredValue] = []
      for element in list { values.append(try value(element)) }
      return .array(values)
    case "mapValue":
      guard content.members != nil, let fields = (content["fields"] ?? [:]).members else { return nil }
      return VectorMap.value(of: try map(fields))
    default:
      throw JSONProblem(message: "there is no type \"\(type)\"")
    }
  }

  // MARK: Pending times

  /// Reads a server timestamp that was pending at the time of the export, with the previous value if
  /// there was one.
  private static func pendingTimestamp(_ json: JSON) throws(JSONProblem) -> StoredValue? {
    guard let members = json.members, let content = json["pendingTimestampValue"] else { return nil }
    let previous = json["previousValue"]
    guard members.count == (previous == nil ? 1 : 2) else { return nil }
    guard let time = content.text.flatMap(TimestampText.parse) else {
      throw JSONProblem(
        message: "\(content.text ?? content.description) is not of type pendingTimestampValue")
    }
    guard let previous else { return .pendingTimestamp(time, previous: nil) }
    let value = try value(previous)
    if case .pendingTimestamp = value {
      throw JSONProblem(message: "a previousValue is not a pendingTimestampValue")
    }
    return .pendingTimestamp(time, previous: value)
  }

  /// Checks the previous values of pending timestamps, because the store keeps these values, too. Each was
  /// once part of the document, so each has to be within the limits of a document.
  private static func checkPrevious(in fields: StoredMap, of path: DocumentPath) throws(JSONProblem) {
    guard let time = StoredTimestamp(microseconds: 0) else { return }
    for case .map(let previous) in previousValues(.map(fields)) {
      do {
        try DocumentLimits.check(
          StoredDocument(path: path, createTime: time, updateTime: time, fields: previous))
      } catch {
        throw JSONProblem(message: "the contents of a previousValue exceed what a document can hold")
      }
    }
  }

  /// Returns all previous values, including nested ones. Each is wrapped in maps that keep its name and its
  /// nesting depth, but no other fields.
  private static func previousValues(_ value: StoredValue) -> [StoredValue] {
    switch value {
    case .pendingTimestamp(_, let previous): previous.map { [$0] + previousValues($0) } ?? []
    case .array(let elements): elements.flatMap(previousValues).map { alone("0", $0) }
    case .map(let map):
      map.entries.flatMap { entry in previousValues(entry.value).map { alone(entry.name, $0) } }
    case .null, .boolean, .integer, .double, .timestamp, .string, .bytes, .reference, .geoPoint, .vector: []
    }
  }

  private static func alone(_ name: String, _ value: StoredValue) -> StoredValue {
    .map(StoredMap([(name, value)]))
  }

  // MARK: Scalars

  private static func integer(_ content: JSON) -> Int64? {
    switch content {
    case .string(let text): Int64(text)
    // Accepts 1.0 and 1e3 as well.
    case .number(let digits):
      Int64(digits)
        ?? Double(digits).flatMap { abs($0) <= Double(1 << 53) ? Int64(exactly: $0) : nil }
    default: nil
    }
  }

  private static func double(_ content: JSON) -> Double? {
    switch content {
    case .number(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
    case .string("NaN"): .nan
    case .string("Infinity"): .infinity
    case .string("-Infinity"): -.infinity
    default: nil
    }
  }

  /// Parses `projects/…/databases/…/documents/…`.
  static func reference(_ text: String) -> StoredReference? {
    let parts = text.pathSegments
    guard parts.count > 5, parts[0] == "projects", parts[2] == "databases", parts[4] == "documents",
      let path = try? DocumentPath(Array(parts[5...]))
    else { return nil }
    // Earlier releases of this tool wrote neither project nor database.
    guard !parts[1].isEmpty || !parts[3].isEmpty else { return ownReference(path) }
    return StoredReference(projectID: parts[1], databaseID: parts[3], path: path)
  }
}

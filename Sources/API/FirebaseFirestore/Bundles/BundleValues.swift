// Parses values in the JSON of Firestore's protocol.

import DocumentStore
private import FirebaseCore
import Foundation

/// Parses values for one database. References to the database from which the bundle was built become
/// references to this database.
struct BundleValues {
  private static let depthMax = 40

  let projectID: String
  let databaseID: String

  func fields(_ json: [String: Any], depth: Int = 0) throws(BundleError) -> StoredMap {
    guard depth < Self.depthMax else {
      throw BundleError("The bundle has a document that is nested too deeply.")
    }
    var entries: [StoredMap.Entry] = []
    for (name, value) in json { entries.append((name, try self.value(value, depth: depth + 1))) }
    return StoredMap(entries)
  }

  func value(_ json: Any?, depth: Int = 0) throws(BundleError) -> StoredValue {
    guard let json = json as? [String: Any], json.count == 1, let (kind, content) = json.first else {
      throw BundleError("The bundle has a value without a type.")
    }
    switch kind {
    case "nullValue": return .null
    case "booleanValue": if let flag = content as? Bool { return .boolean(flag) }
    case "integerValue":
      if let number = (content as? String).flatMap(Int64.init) ?? (content as? NSNumber)?.int64Value {
        return .integer(number)
      }
    case "doubleValue": if let number = double(content) { return .double(number) }
    case "timestampValue": return .timestamp(try timestamp(content))
    case "stringValue": if let text = content as? String { return .string(text) }
    case "bytesValue":
      if let data = (content as? String).flatMap({ Data(base64Encoded: $0) }) { return .bytes([UInt8](data)) }
    case "referenceValue":
      return .reference(
        StoredReference(projectID: projectID, databaseID: databaseID, path: try path(content)))
    case "geoPointValue":
      if let place = content as? [String: Any],
        let point = StoredGeoPoint(
          latitude: double(place["latitude"]) ?? 0, longitude: double(place["longitude"]) ?? 0)
      {
        return .geoPoint(point)
      }
    case "arrayValue":
      return .array(try elements((content as? [String: Any])?["values"], depth: depth))
    case "mapValue":
      return try map((content as? [String: Any])?["fields"] as? [String: Any] ?? [:], depth: depth)
    default: break
    }
    throw BundleError("The bundle has an invalid \(kind).")
  }

  private func elements(_ json: Any?, depth: Int) throws(BundleError) -> [StoredValue] {
    guard depth < Self.depthMax else {
      throw BundleError("The bundle has a document that is nested too deeply.")
    }
    var elements: [StoredValue] = []
    for element in json as? [Any] ?? [] { elements.append(try value(element, depth: depth + 1)) }
    return elements
  }

  /// Parses a map. A vector is a map with a type field.
  private func map(_ json: [String: Any], depth: Int) throws(BundleError) -> StoredValue {
    let map = try fields(json, depth: depth)
    guard case .string("__vector__")? = map["__type__"], case .array(let elements)? = map["value"] else {
      return .map(map)
    }
    return .vector(
      elements.map { element in
        switch element {
        case .double(let number): number
        case .integer(let number): Double(number)
        default: .nan
        }
      })
  }

  private func double(_ json: Any?) -> Double? {
    switch json {
    case "NaN" as String: .nan
    case "Infinity" as String: .infinity
    case "-Infinity" as String: -.infinity
    case let number as NSNumber: number.doubleValue
    default: nil
    }
  }

  // MARK: Names, times, counts

  /// Parses a count. 64-bit numbers are encoded as strings.
  func count(_ json: Any?) throws(BundleError) -> Int {
    guard let count = (json as? String).flatMap({ Int($0) }) ?? (json as? NSNumber)?.intValue, count >= 0
    else {
      throw BundleError("The bundle has an invalid count.")
    }
    return count
  }

  /// Parses a time: `2026-08-01T12:00:00.123456Z`, or seconds and nanoseconds.
  func timestamp(_ json: Any?) throws(BundleError) -> StoredTimestamp {
    if let parts = json as? [String: Any] {
      let seconds =
        (parts["seconds"] as? String).flatMap(Int64.init) ?? (parts["seconds"] as? NSNumber)?.int64Value
      let nanoseconds = (parts["nanos"] as? NSNumber)?.int32Value ?? 0
      if let timestamp = StoredTimestamp(seconds: seconds ?? 0, nanoseconds: nanoseconds) { return timestamp }
    }
    if let text = json as? String,
      let match = text.wholeMatch(of: #/([^.]+?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)/#),
      let date = try? Date("\(match.1)\(match.3)", strategy: .iso8601)
    {
      let fraction = (match.2.map(String.init) ?? "").padding(toLength: 9, withPad: "0", startingAt: 0)
      if let timestamp = StoredTimestamp(
        seconds: Int64(date.timeIntervalSince1970.rounded(.down)), nanoseconds: Int32(fraction) ?? 0)
      {
        return timestamp
      }
    }
    throw BundleError("The bundle has an invalid time.")
  }

  /// Parses a document name such as `projects/p/databases/d/documents/rooms/eros`.
  func path(_ json: Any?) throws(BundleError) -> DocumentPath {
    guard let path = try? DocumentPath(try segments(json)) else {
      throw BundleError("The bundle has a document without a name.")
    }
    return path
  }

  /// Returns the segments after `documents`.
  func segments(_ json: Any?) throws(BundleError) -> [String] {
    let segments = (json as? String ?? "").pathSegments
    guard segments.count >= 5, segments[0] == "projects", segments[2] == "databases",
      segments[4] == "documents"
    else { throw BundleError("The bundle has a name that belongs to no database.") }
    return Array(segments[5...])
  }
}

extension BundleValues {
  init(_ firestore: Firestore) {
    self.init(projectID: firestore.app.projectID, databaseID: firestore.databaseID)
  }
}

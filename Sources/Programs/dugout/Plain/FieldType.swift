// The types that a plain field can be given, and how text becomes a value of a type.

import DocumentStore
import Foundation

enum FieldType: String, Codable, CaseIterable {
  case string, integer, double, boolean, timestamp
  /// Timestamps as numbers since 1970.
  case seconds, milliseconds
  case bytes, reference, geopoint, json, vector

  /// Describes a text of the type, for messages about a text that is not of this type.
  var expectation: String {
    switch self {
    case .string: "a string"
    case .integer: "an integer of 64 bits"
    case .double: "a number"
    case .boolean: "true or false"
    case .timestamp: "a timestamp, such as 2026-03-01T12:00:00Z, or a date, such as 2026-03-01"
    case .seconds: "a number of seconds since 1970"
    case .milliseconds: "a number of milliseconds since 1970"
    case .bytes: "Base64"
    case .reference: "the path of a document, such as users/ada"
    case .geopoint: "a latitude and a longitude, such as \"48.1,11.6\""
    case .json: "JSON"
    case .vector: "a list of numbers, such as [0.5,1]"
    }
  }

  /// The names of all types, for messages.
  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// Returns nil if the text is not of the type. Blanks around the text do not count, except in a string.
  func value(of text: String) -> StoredValue? {
    if self == .string { return .string(text) }
    return value(ofTrimmed: text.withoutOuterBlanks)
  }

  private func value(ofTrimmed text: String) -> StoredValue? {
    switch self {
    case .string: .string(text)
    case .integer: Self.integer(text).map { .integer($0) }
    case .double: Self.double(text).map { .double($0) }
    case .boolean: Self.boolean(text).map { .boolean($0) }
    case .timestamp: TimestampText.parseLoosely(text).map { .timestamp($0) }
    case .seconds: Self.timestamp(text, perSecond: 1).map { .timestamp($0) }
    case .milliseconds: Self.timestamp(text, perSecond: 1000).map { .timestamp($0) }
    case .bytes: Data(base64Encoded: text).map { .bytes([UInt8]($0)) }
    case .reference: Self.reference(text).map { .reference($0) }
    case .geopoint: Self.point(text).map { .geoPoint($0) }
    case .json: Self.json(text)
    case .vector: Self.vector(text).map { .vector($0) }
    }
  }

  /// Accepts 36.0 as well, because some programs write a column with gaps as fractions.
  private static func integer(_ text: String) -> Int64? {
    if let integer = Int64(text) { return integer }
    return NumberForm(text).flatMap { _ in Double(text) }.flatMap {
      abs($0) <= NumberForm.exactMax ? Int64(exactly: $0) : nil
    }
  }

  private static func double(_ text: String) -> Double? {
    guard NumberForm(text) == nil, let first = text.first, !first.isNumber else {
      return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
    switch text.lowercased() {
    case "nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default: return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
  }

  private static func boolean(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "true", "t", "yes", "y", "1": true
    case "false", "f", "no", "n", "0": false
    default: nil
    }
  }

  private static func timestamp(_ text: String, perSecond: Int64) -> StoredTimestamp? {
    let factor = 1_000_000 / perSecond
    if let number = Int64(text) {
      let (microseconds, isOverflow) = number.multipliedReportingOverflow(by: factor)
      return isOverflow ? nil : StoredTimestamp(microseconds: microseconds)
    }
    guard let number = double(text), number.isFinite else { return nil }
    return Int64(exactly: (number * Double(factor)).rounded()).flatMap { StoredTimestamp(microseconds: $0) }
  }

  /// Parses the path of a document, with or without its project and database.
  private static func reference(_ text: String) -> StoredReference? {
    if let reference = DocumentJSON.reference(text) { return reference }
    let path = text.hasPrefix("/") ? String(text.dropFirst()) : text
    return (try? DocumentPath(path.pathSegments)).map(DocumentJSON.ownReference)
  }

  private static func point(_ text: String) -> StoredGeoPoint? {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
      .map { Double(String($0).withoutOuterBlanks) }
    guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else { return nil }
    return StoredGeoPoint(latitude: latitude, longitude: longitude)
  }

  private static func json(_ text: String) -> StoredValue? {
    guard let json = try? JSONReader.read(Data(text.utf8)) else { return nil }
    return try? PlainValue.value(of: json)
  }

  private static func vector(_ text: String) -> [Double]? {
    (try? JSONReader.read(Data(text.utf8))).flatMap(PlainValue.vector)
  }
}

extension String {
  /// The text without spaces and tabs at its ends.
  var withoutOuterBlanks: String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else { return self }
    var rest = self[...].utf8
    while let first = rest.first, isBlank(first) { rest.removeFirst() }
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(Substring(rest))
  }
}

// Firestore's rules for values, with the sentences in which a server refuses a value that breaks one.

import DocumentStore

/// Keeps count of the values that are read, so that a message does not become far more memory than the
/// largest document, and refuses what no document can contain.
struct ValueBudget {
  static let depthMax = 20
  static let valueBytesMax = (1 << 20) - 89
  static let documentBytesMax = 1 << 20
  static let nameBytesMax = 1500
  static let vectorDimensionsMax = 2048
  static let arraysMax = 1 << 18

  let rules: ValueRules
  /// The top-level field that is read; nil for an operand.
  private(set) var property: String?
  private var bytes = 0
  private var arrayCount = 0
  private var bytesBeforeProperty = 0

  init(_ rules: ValueRules) { self.rules = rules }

  mutating func begin(property: String) {
    self.property = property
    bytesBeforeProperty = bytes
  }

  /// Adds Firestore's size of a value or of a name.
  mutating func add(bytes count: Int) throws(WireError) {
    bytes += count
    guard bytes - bytesBeforeProperty <= Self.valueBytesMax else {
      let subject = property.map { "The value of property \"\(shortened($0))\"" } ?? "The value"
      throw WireError("\(subject) is longer than \(Self.valueBytesMax) bytes.")
    }
    guard bytes <= Self.documentBytesMax else {
      throw WireError("maximum entity size is \(Self.documentBytesMax) bytes.")
    }
  }

  /// Adds the size of a number, a boolean or null.
  mutating func add(scalar value: StoredValue) throws(WireError) {
    switch value {
    case .null, .boolean: try add(bytes: 1)
    default: try add(bytes: 8)
    }
  }

  /// `depth` is the number of maps and arrays around the map.
  mutating func beginMap(depth: Int) throws(WireError) {
    try check(depth: depth + 1)
    try add(bytes: 32)
  }

  mutating func beginArray(depth: Int, isElement: Bool) throws(WireError) {
    guard !isElement || rules.allowsNestedArrays else {
      throw WireError("Cannot convert an array value in an array value.")
    }
    try check(depth: depth + 1)
    // An array has no size of its own, so that only this limits the memory of empty ones.
    arrayCount += 1
    guard arrayCount <= Self.arraysMax else {
      throw WireError("A document or an operand has at most \(Self.arraysMax) arrays.")
    }
  }

  private func check(depth: Int) throws(WireError) {
    guard depth > Self.depthMax else { return }
    throw WireError(
      property.map { "Property \(shortened($0)) contains an invalid nested entity." }
        ?? "Maps and arrays may be nested \(Self.depthMax) deep.")
  }

  func check(name: String) throws(WireError) {
    guard name.utf8.count <= Self.nameBytesMax else {
      throw WireError("The property.name is longer than \(Self.nameBytesMax) bytes.")
    }
    guard !name.utf8.isEmpty else { throw WireError("The property.name is the empty string.") }
    guard ReservedName.isReserved(name) else { return }
    throw WireError("field name \(name) is reserved.")
  }
}

// MARK: - Values with rules of their own

extension ValueBudget {
  static func timestamp(seconds: Int64, nanos: Int32) throws(WireError) -> StoredTimestamp {
    guard let time = StoredTimestamp(seconds: seconds, nanoseconds: nanos) else {
      throw WireError(
        "A timestamp must be between the years 1 and 9999, with 0 to 999,999,999 nanoseconds.")
    }
    return time
  }

  static func geoPoint(latitude: Double, longitude: Double) throws(WireError) -> StoredGeoPoint {
    if let point = StoredGeoPoint(latitude: latitude, longitude: longitude) { return point }
    guard (-90...90).contains(latitude) else {
      throw WireError("Geo point latitude '\(text(latitude))' outside permitted range -90.0 to 90.0.")
    }
    throw WireError("Geo point longitude '\(text(longitude))' outside permitted range -180.0 to 180.0.")
  }

  private static func text(_ number: Double) -> String { number.isNaN ? "NaN" : "\(number)" }

  /// The value for a map: a vector if the map has the type of one, else the map.
  func value(ofMap entries: [StoredMap.Entry], isElement: Bool) throws(WireError) -> StoredValue {
    guard let type = entries.last(where: { $0.name == "__type__" })?.value else {
      for entry in entries { try check(name: entry.name) }
      return .map(StoredMap(entries))
    }
    guard case .string(let type) = type else { throw WireError("Field __type__ is not a string.") }
    guard type == "__vector__" else { throw WireError("field name __type__ is reserved.") }
    guard let value = entries.last(where: { $0.name == "value" })?.value else {
      throw WireError("Vector map is missing key 'value'.")
    }
    guard entries.allSatisfy({ $0.name == "__type__" || $0.name == "value" }) else {
      throw WireError("Vector Value map has extraneous entries.")
    }
    guard case .array(let elements) = value else { throw WireError("Vector Value type must be an array.") }
    return .vector(try vector(elements, isElement: isElement))
  }

  private func vector(_ elements: [StoredValue], isElement: Bool) throws(WireError) -> [Double] {
    guard elements.count <= Self.vectorDimensionsMax else {
      throw WireError("Vectors must be at most \(Self.vectorDimensionsMax) dimensions.")
    }
    var numbers: [Double] = []
    numbers.reserveCapacity(elements.count)
    for element in elements {
      guard case .double(let number) = element else {
        throw WireError("Vector must only contain values of type 'double'.")
      }
      numbers.append(number)
    }
    guard !rules.allowsAnyVector else { return numbers }
    guard !numbers.isEmpty else { throw WireError("Cannot have a zero length vector.") }
    guard !numbers.contains(where: \.isNaN) else { throw WireError("Vector cannot contain NaN values.") }
    guard !isElement else { throw WireError("Cannot convert a vector value in an array value.") }
    return numbers
  }
}

extension WireError {
  static let unsetValue = WireError("Cannot convert firestore.v1.Value with type unset.")
}

/// Names of fields and aggregates that Firestore keeps for itself.
enum ReservedName {
  /// Whether a name begins and ends with two underscores.
  static func isReserved(_ name: String) -> Bool {
    let underscores = "__".utf8
    return name.utf8.starts(with: underscores) && name.utf8.suffix(2).elementsEqual(underscores)
  }
}

// The values that documents can contain.

/// A value in a document. Equal only if type and content are identical; doubles are compared bit by bit.
///
/// ```swift
/// let value = StoredValue.array([.string("mathematics"), .integer(1), .map(StoredMap([("n", .null)]))])
/// if case .array(let elements) = value, case .string(let first)? = elements.first { print(first) }
/// ```
public enum StoredValue: Sendable {
  /// Null, which is a value.
  case null
  /// True or false.
  case boolean(Bool)
  /// A 64-bit integer.
  case integer(Int64)
  /// A double, including NaN and the infinities.
  case double(Double)
  /// A timestamp in microseconds.
  case timestamp(StoredTimestamp)
  /// A server timestamp that a remote has not set yet. Holds the local time of the write and the previous
  /// value. Exists only in a cache, while the write is pending.
  indirect case pendingTimestamp(StoredTimestamp, previous: StoredValue?)
  /// A string.
  case string(String)
  /// A byte string.
  case bytes([UInt8])
  /// A reference to a document.
  // Indirect, because it is larger than the other values, and copies of small values are cheaper.
  indirect case reference(StoredReference)
  /// A geographic location.
  case geoPoint(StoredGeoPoint)
  /// An array. Cannot directly contain another array.
  case array([StoredValue])
  /// A vector for similarity search.
  case vector([Double])
  /// A map of fields.
  case map(StoredMap)
}

/// A reference to a document.
public struct StoredReference: Hashable, Sendable {
  /// The project of the document; empty for the store itself.
  public var projectID: String
  /// The database of the document; empty for the store itself.
  public var databaseID: String
  /// The path of the document.
  public var path: DocumentPath

  /// Creates a reference. Empty names mean the store's own database.
  public init(projectID: String, databaseID: String, path: DocumentPath) {
    self.projectID = projectID
    self.databaseID = databaseID
    self.path = path
  }
}

/// A geographic location in degrees.
public struct StoredGeoPoint: Hashable, Sendable {
  /// From -90 to 90.
  public let latitude: Double
  /// From -180 to 180.
  public let longitude: Double

  /// Nil outside -90...90 and -180...180, and for NaN.
  public init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}

extension StoredReference {
  public static func == (left: Self, right: Self) -> Bool {
    left.projectID.isSameUTF8(as: right.projectID) && left.databaseID.isSameUTF8(as: right.databaseID)
      && left.path == right.path
  }

  public func hash(into hasher: inout Hasher) {
    [projectID, databaseID].hashUTF8(into: &hasher)
    hasher.combine(path)
  }
}

extension StoredGeoPoint {
  public static func == (left: Self, right: Self) -> Bool {
    left.latitude.bitPattern == right.latitude.bitPattern
      && left.longitude.bitPattern == right.longitude.bitPattern
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(latitude.bitPattern)
    hasher.combine(longitude.bitPattern)
  }
}

extension StoredValue: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): isSame(left, right)
    case (.timestamp(let left), .timestamp(let right)): left == right
    case (.pendingTimestamp(let left, let leftPrevious), .pendingTimestamp(let right, let rightPrevious)):
      left == right && leftPrevious == rightPrevious
    case (.string(let left), .string(let right)): left.isSameUTF8(as: right)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.reference(let left), .reference(let right)): left == right
    case (.geoPoint(let left), .geoPoint(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.vector(let left), .vector(let right)): left.elementsEqual(right, by: isSame)
    case (.map(let left), .map(let right)): left == right
    default: false
    }
  }

  /// Compares bit by bit, but treats all NaNs as equal.
  private static func isSame(_ left: Double, _ right: Double) -> Bool {
    left.bitPattern == right.bitPattern || (left.isNaN && right.isNaN)
  }
}

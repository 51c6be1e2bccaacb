// A geographic location.

package import DocumentStore
private import FirebaseCore
public import Foundation

/// A latitude and a longitude in degrees. Locations are equal if their coordinates are equal.
public final class GeoPoint: NSObject, NSCopying, Codable, Sendable {
  /// The latitude in degrees, from -90 to 90.
  public let latitude: Double
  /// The longitude in degrees, from -180 to 180.
  public let longitude: Double

  /// Creates a location. Traps if the latitude is outside -90...90 or the longitude is outside -180...180.
  public init(latitude: Double, longitude: Double) {
    self.latitude = Self.checked(latitude, "latitude", within: 90)
    self.longitude = Self.checked(longitude, "longitude", within: 180)
  }

  private static func checked(_ degrees: Double, _ name: String, within limit: Int) -> Double {
    if (-Double(limit)...Double(limit)).contains(degrees) { return degrees }
    ProgrammerError.report(
      "GeoPoint requires a \(name) value in the range of [-\(limit), \(limit)], but was \(degrees)")
    return 0
  }

  package init(_ stored: StoredGeoPoint) {
    latitude = stored.latitude
    longitude = stored.longitude
  }

  package var stored: StoredGeoPoint {
    guard let stored = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      preconditionFailure("the ranges were checked at init")
    }
    return stored
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? GeoPoint else { return false }
    return latitude == other.latitude && longitude == other.longitude
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(latitude)
    hasher.combine(longitude)
    return hasher.finalize()
  }
}

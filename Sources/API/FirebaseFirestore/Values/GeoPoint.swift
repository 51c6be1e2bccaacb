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
    guard (-90...90).contains(latitude) else {
      ProgrammerError.trap(
        "GeoPoint requires a latitude value in the range of [-90, 90], but was \(latitude)")
    }
    guard (-180...180).contains(longitude) else {
      ProgrammerError.trap(
        "GeoPoint requires a longitude value in the range of [-180, 180], but was \(longitude)")
    }
    self.latitude = latitude
    self.longitude = longitude
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

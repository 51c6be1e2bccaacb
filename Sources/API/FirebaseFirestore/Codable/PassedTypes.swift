// The coding methods of the API's value types. They are for other coders and for direct calls with our
// coders.
//
// Inside containers, our coders write and read values of these types without calling their coding methods.
// The methods here run with other coders. They also run when a program's own `encode(to:)` or `init(from:)`
// passes its coder on to such a value.

private import DocumentStore
import FirebaseCore
private import Foundation

// MARK: GeoPoint

extension GeoPoint {
  private enum CodingKeys: String, CodingKey {
    case latitude
    case longitude
  }

  public convenience init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ValueDecoder {
      self.init(try decoder.require(GeoPoint.self, decoder.value.geoPoint, in: decoder.value, at: nil))
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let latitude = try container.decode(Double.self, forKey: .latitude)
    let longitude = try container.decode(Double.self, forKey: .longitude)
    guard let point = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: "No place on earth has latitude \(latitude) and longitude \(longitude)."))
    }
    self.init(point)
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? ValueEncoder { return encoder.write(.stored(.geoPoint(stored))) }
    if let encoder = encoder as? RecordValueEncoder { return encoder.write(value: self) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(longitude, forKey: .longitude)
  }
}

// MARK: Timestamp

// The coding methods of `Timestamp` are in a lower module. They call the protocols implemented here.

extension ValueEncoder: TimestampEncoder {
  func write(_ timestamp: Timestamp) { write(.timestamp(timestamp)) }
}

extension RecordValueEncoder: TimestampEncoder {
  func write(_ timestamp: Timestamp) { write(value: timestamp) }
}

extension ValueDecoder: TimestampDecoder {
  func timestamp() throws -> Timestamp { try timestamp(Timestamp.self, value, at: nil) }
}

// MARK: VectorValue

extension VectorValue {
  private enum CodingKeys: String, CodingKey {
    case array
  }

  public convenience init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ValueDecoder {
      self.init(try decoder.require(VectorValue.self, decoder.value.vector, in: decoder.value, at: nil))
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try container.decode([Double].self, forKey: .array))
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? ValueEncoder { return encoder.write(.stored(.vector(array))) }
    if let encoder = encoder as? RecordValueEncoder { return encoder.write(value: self) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(array, forKey: .array)
  }
}

// MARK: DocumentReference

extension DocumentReference {
  public convenience init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? ValueDecoder else {
      throw FirestoreDecodingError.decodingIsNotSupported(
        "DocumentReference values can only be decoded with Firestore.Decoder")
    }
    let reference = try decoder.reference(decoder.value, at: nil)
    self.init(reference.firestore, reference.segments)
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? RecordValueEncoder { return encoder.write(value: self) }
    guard let encoder = encoder as? ValueEncoder else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentReference values can only be encoded with Firestore.Encoder")
    }
    encoder.write(.reference(self))
  }
}

// MARK: FieldValue

extension FieldValue {
  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? RecordValueEncoder { return encoder.write(value: self) }
    guard let encoder = encoder as? ValueEncoder else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "FieldValue values can only be encoded with Firestore.Encoder")
    }
    encoder.write(.sentinel(self))
  }

  /// The call that creates this value, such as `FieldValue.delete()`. Each case of `Kind` has the name of the
  /// method that creates it.
  var methodName: String {
    let name = "\(kind)".prefix { $0 != "(" }
    return "FieldValue.\(name)()"
  }
}

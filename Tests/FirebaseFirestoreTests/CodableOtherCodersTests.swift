// The value types with coders other than Firestore's.

import FirebaseCore
import FirebaseFirestore
import Testing

@Suite struct CodableOtherCodersTests {
  private func json(_ value: some Encodable) throws -> NSDictionary {
    let data = try JSONEncoder().encode(value)
    return try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
  }

  @Test func geoPointHasLatitudeAndLongitude() throws {
    let point = GeoPoint(latitude: 1.5, longitude: -2.5)
    let encoded = try json(point)
    #expect(encoded.count == 2)
    #expect(encoded["latitude"] as? Double == 1.5 && encoded["longitude"] as? Double == -2.5)
    #expect(try JSONDecoder().decode(GeoPoint.self, from: JSONEncoder().encode(point)) == point)
  }

  @Test func aGeoPointOutOfRangeIsCorrupted() {
    let text = #"[{"latitude": 91, "longitude": 0}]"#
    #expect(
      decodingFailure { _ = try JSONDecoder().decode([GeoPoint].self, from: Data(text.utf8)) }
        == "dataCorrupted at Index 0")
  }

  @Test func timestampHasSecondsAndNanoseconds() throws {
    let time = Timestamp(seconds: -5, nanoseconds: 6)
    let encoded = try json(time)
    #expect(encoded.count == 2)
    #expect(encoded["seconds"] as? Int == -5 && encoded["nanoseconds"] as? Int == 6)
    #expect(try JSONDecoder().decode(Timestamp.self, from: JSONEncoder().encode(time)) == time)
  }

  @Test func vectorHasItsArray() throws {
    let vector = VectorValue([1, 2.5])
    let encoded = try json(vector)
    #expect(encoded.count == 1)
    #expect(encoded["array"] as? [Double] == [1, 2.5])
    #expect(try JSONDecoder().decode(VectorValue.self, from: JSONEncoder().encode(vector)) == vector)
  }

  @Test func referencesAndFieldValuesAreRefused() {
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(Database.room) }
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode([FieldValue.serverTimestamp()]) }
    #expect(throws: FirestoreDecodingError.self) {
      try JSONDecoder().decode(DocumentReference.self, from: Data("{}".utf8))
    }
  }
}

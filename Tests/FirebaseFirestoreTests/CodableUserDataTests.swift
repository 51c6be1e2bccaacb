// Conversion of user dictionaries to stored values and back.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

@Suite struct CodableUserDataTests {
  private func value(_ any: Any) throws -> StoredValue {
    try UserData.stored(from: any, in: Database.firestore)
  }

  private func message(_ any: Any) -> String? {
    do {
      _ = try UserData.fields(from: ["a": any], in: Database.firestore)
      return nil
    } catch {
      return error.message
    }
  }

  // MARK: From user data

  @Test func nativeNumbersKeepTheirType() throws {
    #expect(try value(1) == .integer(1))
    #expect(try value(0) == .integer(0))
    #expect(try value(1.0) == .double(1))
    #expect(try value(true) == .boolean(true))
    #expect(try value(Int8(-1)) == .integer(-1))
    #expect(try value(Int16(-1)) == .integer(-1))
    #expect(try value(Int32(-1)) == .integer(-1))
    #expect(try value(Int64.min) == .integer(.min))
    #expect(try value(UInt8(1)) == .integer(1))
    #expect(try value(UInt16(1)) == .integer(1))
    #expect(try value(UInt32(1)) == .integer(1))
    #expect(try value(UInt64(1)) == .integer(1))
    #expect(try value(UInt(1)) == .integer(1))
    #expect(try value(Float(0.5)) == .double(0.5))
    #expect(try value(CGFloat(0.5)) == .double(0.5))
    #expect(try value(Decimal(string: "1.5") as Any) == .double(1.5))
    #expect(try value(-0.0) == .double(-0.0))
    #expect(try value(Double.nan) == .double(.nan))
  }

  /// User dictionaries often have `AnyHashable` values, because such dictionaries can be compared.
  @Test func hashableValuesAreUnwrapped() throws {
    let inner: [String: AnyHashable] = ["list": [1, "x"] as [AnyHashable], "no": NSNull()]
    let data: [String: AnyHashable] = [
      "age": 1, "byKey": ["k": "v"] as [AnyHashable: AnyHashable], "inner": inner, "isNew": true, "name": "x",
      "nil": Optional<String>.none, "size": 0.5, "truth": NSNumber(value: true),
    ]
    let list = StoredValue.array([.integer(1), .string("x")])
    let expected = StoredMap([
      ("age", .integer(1)), ("byKey", .map(StoredMap([("k", .string("v"))]))),
      ("inner", .map(StoredMap([("list", list), ("no", .null)]))), ("isNew", .boolean(true)),
      ("name", .string("x")), ("nil", .null), ("size", .double(0.5)), ("truth", .boolean(true)),
    ])
    #expect(try UserData.fields(from: data, in: nil).fields == expected)
    #expect(try value(AnyHashable("x")) == .string("x"))
    #expect(message(AnyHashable(UUID())) == "Unsupported type: UUID (found in field a)")

    struct Model: Decodable, Equatable {
      struct Inner: Decodable, Equatable { var no: String? }
      var age: Int
      var inner: Inner
      var isNew: Bool
      var name: String
    }
    let decoder = Firestore.Decoder()
    #expect(
      try decoder.decode(Model.self, from: data)
        == Model(age: 1, inner: Model.Inner(no: nil), isNew: true, name: "x"))
    let large: [String: AnyHashable] = ["value": UInt64.max]
    #expect(try decoder.decode(Box<UInt64>.self, from: large).value == .max)
  }

  @Test func numberObjectsKeepTheirType() throws {
    #expect(try value(NSNumber(value: 1)) == .integer(1))
    #expect(try value(NSNumber(value: 0)) == .integer(0))
    #expect(try value(NSNumber(value: 1.0)) == .double(1))
    #expect(try value(NSNumber(value: 0.0)) == .double(0))
    #expect(try value(NSNumber(value: Float(1))) == .double(1))
    #expect(try value(NSNumber(value: true)) == .boolean(true))
    #expect(try value(NSNumber(value: false)) == .boolean(false))
    #expect(try value(NSNumber(booleanLiteral: true)) == .boolean(true))
    #expect(try value(NSNumber(value: Int8(1))) == .integer(1))
    #expect(try value(NSNumber(value: UInt8(0))) == .integer(0))
    #expect(try value(NSNumber(value: UInt64(5))) == .integer(5))
    #expect(try value(NSNumber(value: Int64.min)) == .integer(.min))
    #expect(try value(NSDecimalNumber(string: "2.5")) == .double(2.5))
    #expect(try value(NSDecimalNumber(value: 5)) == .double(5))
  }

  @Test func numbersAboveTheLargestIntegerAreRefused() {
    let expected = "NSNumber (18446744073709551615) is too large (found in field a)"
    #expect(message(UInt64.max) == expected)
    #expect(message(UInt.max) == expected)
    #expect(message(NSNumber(value: UInt64.max)) == expected)
    #expect(
      message(["b": UInt64(1) << 63]) == "NSNumber (9223372036854775808) is too large (found in field a.b)")
  }

  @Test func otherScalarsAreConverted() throws {
    #expect(try value("s") == .string("s"))
    #expect(try value(NSString("s")) == .string("s"))
    #expect(try value(NSNull()) == .null)
    #expect(try value(Data([1, 2])) == .bytes([1, 2]))
    #expect(try value(NSData(data: Data([1, 2]))) == .bytes([1, 2]))
    let time = Timestamp(seconds: 1, nanoseconds: 999_999_999)
    #expect(try value(time) == StoredTimestamp(seconds: 1, nanoseconds: 999_999_000).map { .timestamp($0) })
    let second = StoredTimestamp(seconds: 5, nanoseconds: 500_000_000)
    #expect(try value(Date(timeIntervalSince1970: 5.5)) == second.map { .timestamp($0) })
    #expect(try value(NSDate(timeIntervalSince1970: 5.5)) == second.map { .timestamp($0) })
    let point = GeoPoint(latitude: 1, longitude: 2)
    #expect(try value(point) == .geoPoint(point.stored))
    #expect(try value(Database.room) == .reference(Database.room.stored))
    #expect(try value(VectorValue([1, 2])) == .vector([1, 2]))
  }

  @Test func optionalsAreUnwrappedAndNilIsNull() throws {
    #expect(try value(Optional(1) as Any) == .integer(1))
    #expect(try value(Optional<Int>.none as Any) == .null)
    #expect(try value(Optional(Optional(NSNumber(value: 1))) as Any) == .integer(1))
    #expect(try value(["a": String?.none]) == .map(StoredMap([("a", .null)])))
    #expect(try value([1, nil] as [Int?]) == .array([.integer(1), .null]))
  }

  @Test func nestedMapsAndArraysOfAnyTypeAreConverted() throws {
    let expected = StoredValue.map(
      StoredMap([("a", .array([.integer(1), .map(StoredMap([("b", .array([.boolean(true)]))]))]))]))
    #expect(try value(["a": [1, ["b": [true]]]] as [String: Any]) == expected)
    let objects: NSDictionary = ["a": [1, ["b": [true] as NSArray] as NSDictionary] as NSArray]
    #expect(try value(objects) == expected)
    #expect(try value(["a": 1]) == .map(StoredMap([("a", .integer(1))])))
    #expect(try value([String: Int]()) == .map(StoredMap()))
    #expect(try value([Int]()) == .array([]))
    #expect(try value(["a": 1] as [AnyHashable: Any]) == .map(StoredMap([("a", .integer(1))])))
  }

  @Test func errorsNameUnstorableValuesAndTheirField() {
    struct Custom {}
    #expect(message(NSObject()) == "Unsupported type: NSObject (found in field a)")
    #expect(message(Custom()) == "Unsupported type: Custom (found in field a)")
    #expect(message(["b": ["c d": Custom()]]) == "Unsupported type: Custom (found in field a.b.`c d`)")
    #expect(message(["`\\": Custom()]) == "Unsupported type: Custom (found in field a.`\\`\\\\`)")
    #expect(message(["1": Custom()]) == "Unsupported type: Custom (found in field a.`1`)")
    #expect(message([Custom()]) == "Unsupported type: Custom")
    #expect(message([["b": Custom()]]) == "Unsupported type: Custom")
    #expect(message([1: 2]) == "Unsupported type: Dictionary<Int, Int> (found in field a)")
    #expect(message(Set([1])) == "Unsupported type: Set<Int> (found in field a)")
    #expect(message([[1]]) == "Nested arrays are not supported")
    #expect(message(NSArray(array: [NSArray(array: [1])])) == "Nested arrays are not supported")
    #expect(message([["b": [1]]]) == nil)
    #expect(
      message([FieldValue.serverTimestamp()])
        == "FieldValue.serverTimestamp() is not currently supported inside arrays")
    #expect(
      message([["b": FieldValue.serverTimestamp()]])
        == "FieldValue.serverTimestamp() is not currently supported inside arrays")
    #expect(
      message(Database.foreign.document("a/b"))
        == "Document Reference is for database q/(default) but should be for database p/(default) "
        + "(found in field a)")
    #expect(message(["": 1]) == "Invalid data. Document fields must not be empty (found in field a.``)")
    #expect(
      message(["____": 1])
        == "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.____)")
  }

  @Test func sentinelsAreExtractedFromFields() throws {
    let time = FieldValue.serverTimestamp()
    let fields = try UserData.fields(
      from: ["b": ["y": time, "x": 1], "a": time, "c": ["d": time]], in: nil)
    #expect(fields.sentinels.map(\.path) == [["a"], ["b", "y"], ["c", "d"]])
    #expect(fields.fields == StoredMap([("b", .map(StoredMap([("x", .integer(1))])))]))
  }

  @Test func updateValuesReportTheirFieldPath() throws {
    let time = FieldValue.serverTimestamp()
    let single = try UserData.value(from: time, at: ["a", "b"], in: nil)
    #expect(single.value == nil && single.sentinels.map(\.path) == [["a", "b"]])
    let mixed = try UserData.value(from: ["x": time, "y": 1], at: ["a", "b"], in: nil)
    #expect(mixed.value == .map(StoredMap([("y", .integer(1))])))
    #expect(mixed.sentinels.map(\.path) == [["a", "b", "x"]])
    do throws(UserDataError) {
      _ = try UserData.value(from: ["x": NSObject()], at: ["a", "b"], in: nil)
      Issue.record("nothing thrown")
    } catch {
      #expect(error.message == "Unsupported type: NSObject (found in field a.b.x)")
    }
  }

  @Test func sentinelsInQueryOperandsAreRefused() {
    func message(_ any: Any, _ place: UserData.Place) -> String? {
      do throws(UserDataError) {
        _ = try UserData.stored(from: any, place: place, in: nil)
        return nil
      } catch {
        return error.message
      }
    }
    let time = FieldValue.serverTimestamp()
    let outside = "FieldValue.serverTimestamp() can only be used with updateData() and setData()"
    #expect(message(time, .single) == outside)
    #expect(message(["a": time], .single) == "\(outside) (found in field a)")
    #expect(message(["a": ["b c": time]], .inList) == "\(outside) (found in field a.`b c`)")
    var wrong: [String] = []
    for place in [UserData.Place.single, .inList] {
      let messages = [message([time], place), message([1, ["a": [time]]], place)]
      if messages != [outside, outside] { wrong.append("\(place): \(messages)") }
    }
    #expect(wrong == [])
    // In an array transform, the message cannot name the field of an element.
    #expect(message(["a": time], .inArray) == outside)
    #expect(message(time, .inArray) == outside)
    #expect(message([1], .inArray) == "Nested arrays are not supported")
    #expect(message([1], .single) == nil)
    #expect(message(["a": [1]], .inArray) == nil)
  }

  // MARK: To user data

  @Test func storedValuesHaveTheirRuntimeTypes() throws {
    func any(_ value: StoredValue) -> Any { UserData.any(from: value, in: Database.firestore) }
    #expect(any(.null) is NSNull)
    #expect(any(.boolean(true)) as? Bool == true && any(.boolean(true)) as? Int == nil)
    let integer = any(.integer(7))
    #expect(integer is NSNumber && integer as? Int == 7 && integer as? Int64 == 7 && integer as? Double == 7)
    let double = any(.double(1.5))
    #expect(double is NSNumber && double as? Double == 1.5 && double as? Int == nil)
    #expect(any(.string("s")) as? String == "s")
    #expect(any(.bytes([1])) as? Data == Data([1]))
    let time = Timestamp(seconds: 1, nanoseconds: 1000)
    #expect(any(.timestamp(time.stored)) as? Timestamp == time && !(any(.timestamp(time.stored)) is Date))
    let point = GeoPoint(latitude: 1, longitude: 2)
    #expect(any(.geoPoint(point.stored)) as? GeoPoint == point)
    #expect(any(.reference(Database.room.stored)) as? DocumentReference == Database.room)
    #expect(any(.vector([1])) as? VectorValue == VectorValue([1]))
    let tree = any(.map(StoredMap([("a", .array([.integer(1), .map(StoredMap())]))])))
    let list = try #require((tree as? [String: Any])?["a"] as? [Any])
    #expect(list[0] as? Int == 1 && (list[1] as? [String: Any])?.isEmpty == true)
  }
}

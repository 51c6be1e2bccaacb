// The fields of documents into Swift values: the front door.

package import DocumentStore
private import Foundation

extension Firestore {
  /// Makes a value from the fields of a document.
  ///
  ///     struct City: Codable { @DocumentID var id: String?; var name: String }
  ///     let city = try Firestore.Decoder().decode(City.self, from: ["name": "Bern"], in: reference)
  public class Decoder {
    /// How dates are read.
    public var dateDecodingStrategy = FirebaseDataDecoder.DateDecodingStrategy.timestamp
    /// How data is read.
    public var dataDecodingStrategy = FirebaseDataDecoder.DataDecodingStrategy.blob
    /// How NaN and the infinities are read.
    public var nonConformingFloatDecodingStrategy =
      FirebaseDataDecoder.NonConformingFloatDecodingStrategy.throw
    /// How names of fields become coding keys.
    public var keyDecodingStrategy = FirebaseDataDecoder.KeyDecodingStrategy.useDefaultKeys
    /// What the values' own `init(from:)` may look at.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// With Firestore's own strategies.
    public init() {}

    /// A value from what `DocumentSnapshot.data()` returns, or from any value that can be in it.
    ///
    /// Throws `DecodingError` with the path to what does not fit, and whatever the type's own
    /// `init(from:)` throws. `NSNull` fits optional types, and types whose own `init(from:)` reads null. A value that
    /// `type` does not read may be anything.
    public func decode<T: Decodable>(_ type: T.Type, from container: Any) throws -> T {
      try decode(type, from: container, in: nil)
    }

    /// The same, and properties marked `@DocumentID` get the id of `document`.
    public func decode<T: Decodable>(
      _ type: T.Type, from container: Any, in document: DocumentReference?
    ) throws -> T {
      let value = UserData.read(container)
      value.sortMaps()
      return try decode(type, from: value, document)
    }

    /// A value straight from what is stored. `reference` fills `@DocumentID` and tells the database
    /// that references belong to.
    package func decodeFields<T: Decodable>(
      _ type: T.Type, from map: StoredMap, reference: DocumentReference?
    ) throws -> T {
      try decode(type, from: .stored(.map(map)), reference)
    }

    /// The same from a record: fields that nobody asks for are not decoded.
    func decodeFields<T: Decodable>(
      _ type: T.Type, from fields: DocumentRecord.Fields, reference: DocumentReference,
      times: ServerTimestampBehavior
    ) throws -> T {
      try decode(type, from: CodedValue(fields), reference, times)
    }

    private func decode<T: Decodable>(
      _ type: T.Type, from value: CodedValue, _ reference: DocumentReference?,
      _ times: ServerTimestampBehavior = .none
    ) throws -> T {
      let options = DecodingOptions(
        date: dateDecodingStrategy, data: dataDecodingStrategy,
        nonConformingFloat: nonConformingFloatDecodingStrategy, key: keyDecodingStrategy,
        userInfo: userInfo, reference: reference, times: times)
      let decoder = ValueDecoder(value, options)
      // A strategy of the user may make dates and data of anything.
      guard value.isNull, T.self != Date.self, T.self != Data.self else {
        return try decoder.decode(type, from: value, at: nil)
      }
      return try fromNull(type, decoder)
    }

    /// An absent document is no model, unless the type itself looks at the value. A type without fields does not.
    private func fromNull<T: Decodable>(_ type: T.Type, _ decoder: ValueDecoder) throws -> T {
      let value = try type.init(from: decoder)
      guard decoder.isAskedForValue else { throw decoder.mismatch(type, decoder.value, at: nil) }
      return value
    }
  }
}

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
    /// `init(from:)` throws; `NSNull` fits optional types only. What nobody asks for may be anything.
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
      guard !value.isNull || type is any ExpressibleByNilLiteral.Type else {
        throw DecodingError.valueNotFound(
          type,
          DecodingError.Context(codingPath: [], debugDescription: "Expected \(type) but found null."))
      }
      let options = DecodingOptions(
        date: dateDecodingStrategy, data: dataDecodingStrategy,
        nonConformingFloat: nonConformingFloatDecodingStrategy, key: keyDecodingStrategy,
        userInfo: userInfo, reference: reference, times: times)
      return try ValueDecoder(value, options).decode(type, from: value, at: nil)
    }
  }
}

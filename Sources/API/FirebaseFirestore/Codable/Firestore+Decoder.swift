// The decoder from document fields to Swift values.

package import DocumentStore
private import Foundation

extension Firestore {
  /// Decodes a value from the fields of a document.
  ///
  ///     struct City: Codable { @DocumentID var id: String?; var name: String }
  ///     let city = try Firestore.Decoder().decode(City.self, from: ["name": "Bern"], in: reference)
  public class Decoder {
    /// All strategies together, so that a decoding reads them with one access.
    private var strategies = DecodingStrategies()

    /// The strategy for dates.
    public var dateDecodingStrategy: FirebaseDataDecoder.DateDecodingStrategy {
      get { strategies.date }
      set { strategies.date = newValue }
    }
    /// The strategy for `Data`.
    public var dataDecodingStrategy: FirebaseDataDecoder.DataDecodingStrategy {
      get { strategies.data }
      set { strategies.data = newValue }
    }
    /// The strategy for infinities and NaN.
    public var nonConformingFloatDecodingStrategy: FirebaseDataDecoder.NonConformingFloatDecodingStrategy {
      get { strategies.nonConformingFloat }
      set { strategies.nonConformingFloat = newValue }
    }
    /// The strategy for field names.
    public var keyDecodingStrategy: FirebaseDataDecoder.KeyDecodingStrategy {
      get { strategies.key }
      set { strategies.key = newValue }
    }
    /// Contextual information that the `init(from:)` of each decoded type can read.
    public var userInfo: [CodingUserInfoKey: Any] {
      get { strategies.userInfo }
      set { strategies.userInfo = newValue }
    }

    /// Creates a decoder with Firestore's default strategies.
    public init() {}

    /// Decodes a value from the result of `DocumentSnapshot.data()`, or from any value that such a result can
    /// contain.
    ///
    /// Throws `DecodingError` with the path of the mismatch, and every error that the type's own
    /// `init(from:)` throws. `NSNull` can be decoded as an optional type, and as a type whose own
    /// `init(from:)` accepts null. Values that `type` does not read may be of any type.
    public func decode<T: Decodable>(_ type: T.Type, from container: Any) throws -> T {
      try decode(type, from: container, in: nil)
    }

    /// Decodes a value, and sets properties marked `@DocumentID` to the ID of `document`.
    public func decode<T: Decodable>(
      _ type: T.Type, from container: Any, in document: DocumentReference?
    ) throws -> T {
      let value = UserData.read(container)
      value.sortMaps()
      return try decode(type, from: value, reference: document)
    }

    /// Decodes a value directly from a stored map. `reference` is the value of `@DocumentID` properties, and
    /// decoded references belong to its database.
    package func decodeFields<T: Decodable>(
      _ type: T.Type, from map: StoredMap, reference: DocumentReference?
    ) throws -> T {
      try decode(type, from: .stored(.map(map)), reference: reference)
    }

    /// Decodes a value directly from a record. Fields that the type does not read are not decoded. A document
    /// that does not exist is nil; then decoding throws, unless the type is optional.
    package func decodeRecord<T: Decodable>(
      _ type: T.Type, _ record: DocumentRecord?, reference: DocumentReference, times: ServerTimestampBehavior
    ) throws -> T {
      guard let record else { return try decode(type, from: NSNull()) }
      guard case .record(let map) = record.fields, !ValueDecoder.isScalar(type) else {
        return try decode(type, from: CodedValue(record.fields), reference: reference, times: times)
      }
      let options = DecodingOptions(strategies, reference: reference, times: times)
      return try type.init(from: ValueDecoder(map, options, as: type))
    }

    private func decode<T: Decodable>(
      _ type: T.Type, from value: CodedValue, reference: DocumentReference?,
      times: ServerTimestampBehavior = .none
    ) throws -> T {
      let decoder = ValueDecoder(
        value, DecodingOptions(strategies, reference: reference, times: times))
      // Dates and data are not checked for null here, because a custom strategy can create them from any
      // value, including null.
      guard value.isNull, T.self != Date.self, T.self != Data.self else {
        return try decoder.decode(type, from: value, at: nil)
      }
      return try fromNull(type, decoder)
    }

    /// Decodes a missing document, which is represented by null. Throws unless the type itself reads the null
    /// value. A type that reads no field at all is rejected too.
    private func fromNull<T: Decodable>(_ type: T.Type, _ decoder: ValueDecoder) throws -> T {
      let value = try type.init(from: decoder)
      guard decoder.usesSingleValue else { throw decoder.mismatch(type, decoder.value, at: nil) }
      return value
    }
  }
}

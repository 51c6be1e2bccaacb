// Swift values into the fields of documents: the front door.

private import DocumentStore
private import Foundation

extension Firestore {
  /// Makes the fields of a document from a value.
  ///
  ///     struct City: Codable { var name: String; var founded: Date }
  ///     let fields = try Firestore.Encoder().encode(City(name: "Bern", founded: .now))
  ///
  /// A property that is nil has no field; `@ExplicitNull` writes null.
  public class Encoder {
    /// How dates are stored.
    public var dateEncodingStrategy = FirebaseDataEncoder.DateEncodingStrategy.timestamp
    /// How data is stored.
    public var dataEncodingStrategy = FirebaseDataEncoder.DataEncodingStrategy.blob
    /// How NaN and the infinities are stored.
    public var nonConformingFloatEncodingStrategy =
      FirebaseDataEncoder.NonConformingFloatEncodingStrategy.throw
    /// How coding keys become names of fields.
    public var keyEncodingStrategy = FirebaseDataEncoder.KeyEncodingStrategy.useDefaultKeys
    /// What the values' own `encode(to:)` may look at.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// With Firestore's own strategies.
    public init() {}

    /// A dictionary for `setData`. Throws `EncodingError.invalidValue` for a value that has no fields,
    /// and whatever the value's own `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      try map(of: value).dictionary
    }

    /// The same without a dictionary, checked for what documents cannot hold; that throws
    /// `UserDataError`. References have to belong to `firestore` if it is given.
    package func encodeFields(
      _ value: some Encodable, in firestore: Firestore? = nil
    ) throws -> EncodedFields {
      try map(of: value).fields(in: firestore)
    }

    /// Any value at all, to compare fields with. Fields hold infinities and NaN, so they can be asked for.
    func encodeOperand(_ value: some Encodable) throws -> CodedValue {
      var nonConformingFloat: FirebaseDataEncoder.NonConformingFloatEncodingStrategy?
      if case .convertToString = nonConformingFloatEncodingStrategy {
        nonConformingFloat = nonConformingFloatEncodingStrategy
      }
      return try root(nonConformingFloat).coded(value, at: nil) ?? .null
    }

    private func root(
      _ nonConformingFloat: FirebaseDataEncoder.NonConformingFloatEncodingStrategy?
    ) -> ValueEncoder {
      ValueEncoder(
        EncodingOptions(
          date: dateEncodingStrategy, data: dataEncodingStrategy, nonConformingFloat: nonConformingFloat,
          key: keyEncodingStrategy, userInfo: userInfo))
    }

    private func map<T: Encodable>(of value: T) throws -> CodedMap {
      guard case .map(let map)? = try root(nonConformingFloatEncodingStrategy).coded(value, at: nil)
      else {
        throw EncodingError.invalidValue(
          value,
          EncodingError.Context(codingPath: [], debugDescription: "Top-level \(T.self) is not allowed."))
      }
      return map
    }
  }
}

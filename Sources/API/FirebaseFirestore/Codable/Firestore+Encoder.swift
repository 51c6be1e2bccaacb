// The encoder from Swift values to document fields.

private import DocumentStore
private import Foundation

extension Firestore {
  /// Encodes a value as the fields of a document.
  ///
  ///     struct City: Codable { var name: String; var founded: Date }
  ///     let fields = try Firestore.Encoder().encode(City(name: "Bern", founded: .now))
  ///
  /// A nil property has no field; `@ExplicitNull` writes null.
  public class Encoder {
    /// All strategies together, so that an encoding reads them with one access.
    private var strategies = EncodingStrategies()

    /// The strategy for dates.
    public var dateEncodingStrategy: FirebaseDataEncoder.DateEncodingStrategy {
      get { strategies.date }
      set { strategies.date = newValue }
    }
    /// The strategy for `Data`.
    public var dataEncodingStrategy: FirebaseDataEncoder.DataEncodingStrategy {
      get { strategies.data }
      set { strategies.data = newValue }
    }
    /// The strategy for infinities and NaN.
    public var nonConformingFloatEncodingStrategy: FirebaseDataEncoder.NonConformingFloatEncodingStrategy {
      get { strategies.nonConformingFloat }
      set { strategies.nonConformingFloat = newValue }
    }
    /// The strategy for field names.
    public var keyEncodingStrategy: FirebaseDataEncoder.KeyEncodingStrategy {
      get { strategies.key }
      set { strategies.key = newValue }
    }
    /// Contextual information that the `encode(to:)` of each encoded value can read.
    public var userInfo: [CodingUserInfoKey: Any] {
      get { strategies.userInfo }
      set { strategies.userInfo = newValue }
    }

    /// Creates an encoder with Firestore's default strategies.
    public init() {}

    /// Returns a dictionary for `setData`. Throws `EncodingError.invalidValue` if the value is not encoded as
    /// a map of fields, and throws every error that the value's own `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      try map(of: value).dictionary
    }

    /// Encodes a value without creating a dictionary. Throws `UserDataError` for data that documents cannot
    /// hold. If `firestore` is not nil, references must belong to its database. The commit computes the
    /// `computed` fields, also if the value has fields with their names.
    package func encodeFields(
      _ value: some Encodable, in firestore: Firestore? = nil, computing computed: ComputedFields = .none
    ) throws -> EncodedFields {
      if let fields = directFields(value, in: firestore, computing: computed) { return fields }
      var fields = try map(of: value).fields(in: firestore)
      fields.compute(computed)
      return fields
    }

    /// Encodes a value as a record of the open database. Nil if the value must be encoded as a tree.
    private func directFields(
      _ value: some Encodable, in firestore: Firestore?, computing computed: ComputedFields
    ) -> EncodedFields? {
      guard let firestore, let encoder = firestore.fieldsEncoder, let userInfo = strategies.userInfoOfDefaults
      else { return nil }
      let context = RecordValueEncoder.Context(firestore: firestore, userInfo: userInfo, computed: computed)
      return RecordValueEncoder.fields(value, with: encoder, in: context)
    }

    /// Encodes any value as an operand of a comparison. Infinities and NaN are allowed, because the compared
    /// fields can contain them.
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

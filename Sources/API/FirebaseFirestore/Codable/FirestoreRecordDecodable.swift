// Types that read their own fields.

/// A type that reads its own fields by name.
///
/// Such a type is decoded faster than a type with coding keys, because it reads the bytes of a document
/// without a container in between.
///
/// ```swift
/// import FirebaseFirestore
///
/// struct City: FirestoreRecordDecodable {
///   var name: String
///   var population: Int
///   var founded: Timestamp?
///
///   init(from fields: inout FieldReader) throws {
///     name = try fields.decode("name")
///     population = try fields.decode("population")
///     founded = try fields.decodeIfPresent("founded")
///   }
/// }
///
/// let city = try Firestore.firestore().document("cities/bern").read(as: City.self)
/// ```
///
/// The type is `Decodable`, so it can be used wherever a `Decodable` type can: as a property or array element
/// of another type, with `Firestore.Decoder` and its strategies, and with other decoders. All these decode
/// the same values, and throw the same errors as a type with coding keys.
public protocol FirestoreRecordDecodable: Decodable {
  /// Creates a value from the fields of a document or of a map.
  init(from fields: inout FieldReader) throws
}

extension FirestoreRecordDecodable {
  public init(from decoder: any Decoder) throws {
    var fields = try FieldReader(decoder, for: Self.self)
    try self.init(from: &fields)
  }
}

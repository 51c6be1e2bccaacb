// Types that write their own fields.

/// A type that writes its own fields by name.
///
/// Such a type is encoded faster than a type with coding keys, because its values are written into the
/// document without a container in between.
///
/// ```swift
/// import FirebaseFirestore
///
/// struct City: FirestoreRecordEncodable {
///   var name: String
///   var population: Int
///   var founded: Timestamp?
///
///   func encode(to fields: inout FieldWriter) throws {
///     try fields.encode(name, as: "name")
///     try fields.encode(population, as: "population")
///     try fields.encodeIfPresent(founded, as: "founded")
///   }
/// }
///
/// let city = City(name: "Bern", population: 134_000, founded: nil)
/// try await Firestore.firestore().document("cities/bern").setData(from: city)
/// ```
///
/// The type is `Encodable`, so it can be used wherever an `Encodable` type can: as a property or array
/// element of another type, with `Firestore.Encoder` and its strategies, and with other encoders. All these
/// encode the same fields, and throw the same errors as a type with coding keys.
public protocol FirestoreRecordEncodable: Encodable {
  /// Writes the fields of this value.
  func encode(to fields: inout FieldWriter) throws
}

extension FirestoreRecordEncodable {
  public func encode(to encoder: any Encoder) throws {
    var fields = FieldWriter(encoder)
    try encode(to: &fields)
  }
}

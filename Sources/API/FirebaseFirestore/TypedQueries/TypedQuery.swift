// Queries whose results are values of one type, with the type's properties as fields.

private import DocumentStore
private import FirebaseCore
private import Foundation

/// A query for values of `Model`. Each step returns a new query.
///
/// ```swift
/// struct User: Codable {
/// @DocumentID var id: String?
/// var name: String
/// var age: Int
/// }
///
/// let users = Firestore.firestore().collection("users").typed(User.self)
/// for user in try await users.where(\.age, .atLeast(18)).order(by: \.name).get() { print(user.name) }
/// ```
///
/// To find the field of a property, the query decodes `Model` from placeholder values. Coding keys, property
/// wrappers and nested properties are supported. A property marked `@DocumentID` is the document's ID. In a
/// query of a collection group, such a property is compared with paths, as with `FieldPath.documentID()`.
///
/// Steps with key paths trap if `Model` cannot be decoded from placeholder values. An example is a type with
/// an enumeration that is not `CaseIterable`. These steps also trap for a property that differs from the
/// stored value because it is computed or converted. In both cases, use the steps of `query`, which take
/// field names.
///
/// Operands are encoded with the strategies of the decoder, so that they match the stored values that the
/// decoder reads.
public struct TypedQuery<Model: Decodable>: Sendable {
  /// The query without the type.
  public let query: Query
  let decoder: @Sendable () -> Firestore.Decoder

  init(_ query: Query, _ decoder: @escaping @Sendable () -> Firestore.Decoder) {
    self.query = query
    self.decoder = decoder
  }

  func with(_ query: Query) -> TypedQuery { TypedQuery(query, decoder) }

  // MARK: Building

  /// Returns the query with a condition on a property.
  public func `where`<Value>(_ property: KeyPath<Model, Value>, _ condition: FieldCondition<Value>)
    -> TypedQuery
  {
    let decoder = decoder()
    let field = FieldNames.field(of: property, decoder, firestore: query.firestore)
    return with(query.whereFilter(condition.filter(on: field, decoder)))
  }

  /// Orders the query by a property. Omits documents without the field.
  public func order<Value>(by property: KeyPath<Model, Value>, descending: Bool = false) -> TypedQuery {
    let field = FieldNames.field(of: property, decoder(), firestore: query.firestore)
    return with(query.order(by: FieldPath(field.path.names), descending: descending))
  }

  /// Limits the query to this number of results, counted from the start.
  public func limit(to limit: Int) -> TypedQuery { with(query.limit(to: limit)) }

  /// Limits the query to this number of results, counted from the end. The query must have an order.
  public func limit(toLast limit: Int) -> TypedQuery { with(query.limit(toLast: limit)) }

  // MARK: Running

  /// Returns the values of all results. Throws `DecodingError` if a document cannot be decoded.
  nonisolated(nonsending) public func get(source: FirestoreSource = .default) async throws -> [Model] {
    try values(of: try await query.getDocuments(source: source))
  }

  /// Returns the values of all results. Blocks the calling thread until the results are available.
  public func read(source: FirestoreSource = .default) throws -> [Model] {
    try values(of: try query.read(source: source))
  }

  /// Returns the number of results without reading them.
  nonisolated(nonsending) public func count() async throws -> Int {
    try await query.count.getAggregation(source: .server).count.intValue
  }

  /// Returns the values of a snapshot that `query` returned.
  public func values(of snapshot: QuerySnapshot) throws -> [Model] {
    let decoder = decoder()
    return try snapshot.documents.map { try $0.data(as: Model.self, decoder: decoder) }
  }
}

extension TypedQuery: Validatable {
  func validate() throws { try query.validate() }
}

extension Query {
  /// Returns this query with values of `type` as results. `decoder` creates the decoder that reads these
  /// values.
  public func typed<Model: Decodable>(
    _ type: Model.Type, decoder: @escaping @Sendable () -> Firestore.Decoder = { Firestore.Decoder() }
  ) -> TypedQuery<Model> {
    TypedQuery(self, decoder)
  }
}

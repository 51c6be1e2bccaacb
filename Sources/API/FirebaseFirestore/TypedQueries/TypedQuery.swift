// Queries whose documents are values of one type, and whose fields are its properties.

private import DocumentStore
private import FirebaseCore
private import Foundation

/// A query for values of `Model`. Each step makes a new one.
///
/// ```swift
/// struct User: Codable {
///   @DocumentID var id: String?
///   var name: String
///   var age: Int
/// }
///
/// let users = Firestore.firestore().collection("users").typed(User.self)
/// for user in try await users.where(\.age, .atLeast(18)).order(by: \.name).get() { print(user.name) }
/// ```
///
/// The field of a property is found by looking at what `Model` decodes into it: coding keys, property wrappers
/// and properties of properties are all right, and a property marked `@DocumentID` is the document's id; a query of a
/// collection group compares it with paths, as `whereField` with `FieldPath.documentID()` does. A type that
/// does not decode from made-up values, such as one with an enumeration that is not `CaseIterable`, cannot be looked
/// at: there, steps with key paths trap, and the steps of `query` do the same by name. So they do for a property that
/// does not give back just what is stored, because it is computed or changed on the way.
///
/// Values that properties are compared with are stored the way the decoder reads them: its strategies count.
public struct TypedQuery<Model: Decodable>: Sendable {
  /// The same without types.
  public let query: Query
  let decoder: @Sendable () -> Firestore.Decoder

  init(_ query: Query, _ decoder: @escaping @Sendable () -> Firestore.Decoder) {
    self.query = query
    self.decoder = decoder
  }

  func with(_ query: Query) -> TypedQuery { TypedQuery(query, decoder) }

  // MARK: Building

  /// Those of which the property meets the condition.
  public func `where`<Value>(_ property: KeyPath<Model, Value>, _ condition: FieldCondition<Value>)
    -> TypedQuery
  {
    let decoder = decoder()
    let field = FieldNames.field(of: property, decoder, query.firestore)
    return with(query.whereFilter(condition.filter(on: field, decoder)))
  }

  /// In order of a property; documents without it are left out.
  public func order<Value>(by property: KeyPath<Model, Value>, descending: Bool = false) -> TypedQuery {
    let field = FieldNames.field(of: property, decoder(), query.firestore)
    return with(query.order(by: FieldPath(field.path.names), descending: descending))
  }

  /// At most so many results, the first ones.
  public func limit(to limit: Int) -> TypedQuery { with(query.limit(to: limit)) }

  /// At most so many results, the last ones. It needs an order.
  public func limit(toLast limit: Int) -> TypedQuery { with(query.limit(toLast: limit)) }

  // MARK: Asking

  /// The values of all results. Throws `DecodingError` if one of them is none.
  nonisolated(nonsending) public func get(source: FirestoreSource = .default) async throws -> [Model] {
    try values(of: try await query.getDocuments(source: source))
  }

  /// The same on this thread, which may have to wait.
  public func read(source: FirestoreSource = .default) throws -> [Model] {
    try values(of: try query.read(source: source))
  }

  /// How many results there are, without reading them.
  nonisolated(nonsending) public func count() async throws -> Int {
    try await query.count.getAggregation(source: .server).count.intValue
  }

  /// The values of a snapshot of `query`.
  public func values(of snapshot: QuerySnapshot) throws -> [Model] {
    let decoder = decoder()
    return try snapshot.documents.map { try $0.data(as: Model.self, decoder: decoder) }
  }
}

extension Query {
  /// The same query for values of `type`. `decoder` makes the decoder that reads them.
  public func typed<Model: Decodable>(
    _ type: Model.Type, decoder: @escaping @Sendable () -> Firestore.Decoder = { Firestore.Decoder() }
  ) -> TypedQuery<Model> {
    TypedQuery(self, decoder)
  }
}

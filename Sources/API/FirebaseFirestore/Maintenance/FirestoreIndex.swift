// Indexes that an app declares, in addition to those that queries create.

import DocumentStore
private import OfflineSync

/// An index of the documents of one collection, or of all collections with the same ID. Equal by value.
///
/// List the fields compared with `==` first, and then the fields of the query's order. An index can be read
/// in both directions, so it supports an order and its reverse.
///
/// ```swift
/// let index = FirestoreIndex("cities", [.ascending("country"), .descending("population")])
/// try await Firestore.firestore().createIndex(index)
/// ```
public struct FirestoreIndex: Hashable, Sendable, CustomStringConvertible {
  /// The collections that an index covers.
  public enum Scope: Hashable, Sendable {
    /// Each collection separately.
    case collection
    /// All collections with the ID together.
    case collectionGroup
  }

  /// A field, named by a path with dots between the names.
  public struct Field: Hashable, Sendable {
    enum Part: Hashable {
      case ascending, descending, elements
    }

    let path: String
    let part: Part

    /// A field in ascending order. The index also supports its whole order reversed.
    public static func ascending(_ path: String) -> Field { Field(path: path, part: .ascending) }

    /// A field in descending order. An index with all directions reversed is equivalent.
    public static func descending(_ path: String) -> Field { Field(path: path, part: .descending) }

    /// Each element of an array, for `arrayContains`.
    public static func elements(_ path: String) -> Field { Field(path: path, part: .elements) }
  }

  /// The last segment of the collections' paths.
  public let collectionID: String
  /// Whether the index covers each collection separately or all collections together.
  public let scope: Scope
  /// The fields, in sort order.
  public let fields: [Field]

  /// Creates the definition of an index. By default, the index covers each collection with this ID
  /// separately. With the scope `collectionGroup`, it covers all of these collections together.
  public init(_ collectionID: String, _ fields: [Field], scope: Scope = .collection) {
    self.collectionID = collectionID
    self.fields = fields
    self.scope = scope
  }

  public var description: String {
    let parts = fields.map { field in
      switch field.part {
      case .ascending: field.path
      case .descending: "\(field.path) desc"
      case .elements: "\(field.path)[]"
      }
    }
    return (scope == .collectionGroup ? "group " : "") + "\(collectionID)(\(parts.joined(separator: ", ")))"
  }
}

extension Firestore {
  /// Creates an index that covers existing documents and stays until it is dropped. Writes continue while the
  /// index is created. Does nothing if the index exists.
  nonisolated(nonsending) public func createIndex(_ index: FirestoreIndex) async throws {
    let definition = try index.definition
    let store = client().store
    try store.checkWritable()
    _ = try await store.performed { view throws(DocumentStoreError) in
      try view.store.createIndex(definition)
    }
  }

  /// Drops an index, and returns false if the index does not exist. A later query that needs the index
  /// creates it again, unless automatic creation is off.
  @discardableResult
  nonisolated(nonsending) public func dropIndex(_ index: FirestoreIndex) async throws -> Bool {
    let definition = try index.definition
    let store = client().store
    try store.checkWritable()
    return try await store.performed { $0.store.dropIndex(definition) }
  }

  /// Returns all indexes as text, in the order of their creation. Indexes that a query created are marked
  /// as automatic. An index is marked as lost if a full disk or a damaged page has destroyed its keys. The
  /// next query of its collections rebuilds it.
  nonisolated(nonsending) public func indexes() async throws -> [String] {
    try await client().store.performed { view in
      view.store.indexList.map { index in
        "\(index.definition)" + (index.isAutomatic ? " (automatic)" : index.isLost ? " (lost)" : "")
      }
    }
  }
}

extension FirestoreIndex {
  fileprivate var definition: IndexDefinition {
    get throws {
      let fields = try Validation.run { self.fields.map(\.definition) }
      do throws(DocumentStoreError) {
        return try IndexDefinition(
          collectionID, scope == .collection ? .collection : .collectionGroup, fields)
      } catch {
        throw FirestoreErrors.translate(error)
      }
    }
  }
}

extension FirestoreIndex.Field {
  fileprivate var definition: IndexDefinition.Field {
    let path = FieldPath.dotted(path)
    switch part {
    case .ascending: return IndexDefinition.Field(path, .value(.ascending))
    case .descending: return IndexDefinition.Field(path, .value(.descending))
    case .elements: return IndexDefinition.Field(path, .element)
    }
  }
}

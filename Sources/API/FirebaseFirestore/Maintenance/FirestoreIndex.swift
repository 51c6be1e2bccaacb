// Indexes that are declared, rather than made when a query needs them.

import DocumentStore
private import OfflineSync

/// An index of the documents of a collection, or of all collections with an id. Equal by value.
///
/// It has the fields that are compared with `==` first, and then those of the order. An index is read from either end:
/// it serves an order and the opposite one.
///
/// ```swift
/// let index = FirestoreIndex("cities", [.ascending("country"), .descending("population")])
/// try await Firestore.firestore().createIndex(index)
/// ```
public struct FirestoreIndex: Hashable, Sendable, CustomStringConvertible {
  /// Which collections an index is about.
  public enum Scope: Hashable, Sendable {
    /// Each collection by itself.
    case collection
    /// All collections with the id together.
    case collectionGroup
  }

  /// A field, named by text with dots between the names.
  public struct Field: Hashable, Sendable {
    enum Part: Hashable {
      case ascending, descending, elements
    }

    let path: String
    let part: Part

    /// A field in ascending order; it serves the descending one as well.
    public static func ascending(_ path: String) -> Field { Field(path: path, part: .ascending) }

    /// A field in descending order. An index whose fields all go the other way is the same.
    public static func descending(_ path: String) -> Field { Field(path: path, part: .descending) }

    /// Each element of an array, for `arrayContains`.
    public static func elements(_ path: String) -> Field { Field(path: path, part: .elements) }
  }

  /// The last part of the paths of its collections.
  public let collectionID: String
  /// Which of these collections.
  public let scope: Scope
  /// In the order in which they sort.
  public let fields: [Field]

  /// An index of one collection, unless its scope says of all with this id.
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
  /// Makes an index that stays until it is dropped, with the documents that there are; writes go on meanwhile. Fine
  /// if there is one.
  nonisolated(nonsending) public func createIndex(_ index: FirestoreIndex) async throws {
    let definition = try index.definition
    _ = try await client().performed { view throws(DocumentStoreError) in
      try view.store.createIndex(definition)
    }
  }

  /// False if there is no such index. Queries that need it have it made again, unless that is turned off.
  @discardableResult
  nonisolated(nonsending) public func dropIndex(_ index: FirestoreIndex) async throws -> Bool {
    let definition = try index.definition
    return try await client().performed { $0.store.dropIndex(definition) }
  }

  /// All indexes as text, in the order in which they were made. Marked are those that a query had made, and as lost those
  /// whose keys a full disk or a damaged page has taken: the next query of their collections has them made again.
  nonisolated(nonsending) public func indexes() async throws -> [String] {
    try await client().performed { view in
      view.store.indexList.map { index in
        "\(index.definition)" + (index.isAutomatic ? " (automatic)" : index.isLost ? " (lost)" : "")
      }
    }
  }
}

extension FirestoreIndex {
  fileprivate var definition: IndexDefinition {
    get throws {
      do throws(DocumentStoreError) {
        return try IndexDefinition(
          collectionID, scope == .collection ? .collection : .collectionGroup,
          fields.map(\.definition))
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

// Finds collections below documents that do not exist.
//
// An example is version/1/user if version/1 was never written. Listings from document to document do not
// reach it.

import DocumentStore

struct UnreachableCollections {
  /// The maximum number of collections to list.
  static let foundMax = 100
  /// The maximum number of collections to examine for each id.
  static let lookedAtMax = 200

  private(set) var found: [(path: CollectionPath, documents: Int)] = []
  /// A collection id for which the search stopped early.
  private(set) var omitted: String?

  /// Finds the collections below a collection or a document, or all of them if `segments` is empty.
  /// Direct subcollections of the document itself are not included.
  init(below segments: [String], in store: DocumentStore) throws(DocumentStoreError) {
    for id in try store.collectionGroups() where PathArgument.isCollectionID(id) {
      do throws(DocumentStoreError) {
        try look(for: id, below: segments, in: store)
      } catch {
        // A partial list is more useful than an error.
        guard case .corrupted = error else { throw error }
        omitted = omitted ?? id
      }
    }
    found.sort { $0.path.description < $1.path.description }
  }

  /// Jumps from collection to collection in path order, and skips the documents of each.
  private mutating func look(
    for id: String, below segments: [String], in store: DocumentStore
  ) throws(DocumentStoreError) {
    let group = try StructuredQuery(.collectionGroup(id)).ordered(by: OrderBy(.documentID))
    var rest = segments.isEmpty ? group : try group.starting(.before, [Self.start(of: segments)])
    var nesting: [CollectionPath: Bool] = [:]
    for _ in 0..<Self.lookedAtMax {
      guard let path = try Self.firstPath(rest, store) else { return }
      let collection = path.parent
      guard collection.segments.starts(with: segments, by: { $0.isSameUTF8(as: $1) }) else { return }
      if nesting[collection] == nil {
        guard found.count < Self.foundMax else { break }
        if collection.segments.count > segments.count + 1, let parent = collection.parent,
          try !store.holdsDocument(at: parent)
        {
          found.append((collection, try store.count(StructuredQuery(.collection(collection)))))
        }
      }
      let isNested: Bool
      if let known = nesting[collection] {
        isNested = known
      } else {
        isNested = try Self.isNested(collection, group, store: store)
        nesting[collection] = isNested
      }
      rest = try group.starting(
        isNested ? .after : .before, [isNested ? .string(path.description) : Self.end(of: collection)])
    }
    omitted = omitted ?? id
  }

  /// Returns the path of a query's first document, which may be undecodable.
  private static func firstPath(
    _ query: StructuredQuery, _ store: DocumentStore
  ) throws(DocumentStoreError) -> DocumentPath? {
    var path: DocumentPath?
    try store.forEach(try query.limited(to: .first(1))) { document in
      path = document.path
      return false
    }
    return path
  }

  /// Whether collections with the same id exist below the documents of this collection. Their documents are
  /// interleaved with the documents of this collection in path order.
  private static func isNested(
    _ collection: CollectionPath, _ group: StructuredQuery, store: DocumentStore
  ) throws(DocumentStoreError) -> Bool {
    let all = try group.starting(.before, [start(of: collection.segments)])
      .ending(.before, [end(of: collection)])
    return try store.count(all) > store.count(StructuredQuery(.collection(collection)))
  }

  // MARK: Places in the order of paths

  /// Precedes all other ids.
  private static let firstID = "__id\(Int64.min)__"

  /// Precedes everything below a collection, or equals a document.
  private static func start(of segments: [String]) -> StoredValue {
    .string((segments.count % 2 == 0 ? segments : segments + [firstID]).joined(separator: "/"))
  }

  /// Follows everything below a collection, because nothing is between an id and that id with a zero byte
  /// appended.
  private static func end(of collection: CollectionPath) -> StoredValue {
    .string("\(collection)\0/\(firstID)")
  }

  // MARK: Answers

  var lines: [String] {
    let rest = omitted.map { id in
      "and perhaps more: the query \"group \(PathText.quoted(id))\" goes through all collections with that id"
    }
    return Self.lines(found) + (rest.map { [$0] } ?? [])
  }

  static func lines(_ collections: [(path: CollectionPath, documents: Int)]) -> [String] {
    collections.map { "\(PathText.printed($0.path.segments))  \(Wording.count($0.documents, "document"))" }
  }

  static func objects(_ collections: [(path: CollectionPath, documents: Int)]) -> JSON {
    collections.map { ["path": $0.path.description, "documents": $0.documents] as JSON }.json
  }
}

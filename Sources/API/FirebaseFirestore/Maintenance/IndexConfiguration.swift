// Reads index definitions from the file that Firebase's tools write, `firestore.indexes.json`.
//
//   {"indexes": [{"collectionGroup": id, "queryScope": "COLLECTION" | "COLLECTION_GROUP",
//                 "fields": [{"fieldPath": path, "order": "ASCENDING" | "DESCENDING"}
//                            | {"fieldPath": path, "arrayConfig": "CONTAINS"}]}], …}

import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

extension Firestore {
  /// Creates the indexes in the JSON text, and drops declared indexes that are not in it. `completion` runs
  /// on the callback queue. It receives `invalidArgument` if the text is invalid.
  @available(*, deprecated, message: "The indexes that queries need are built automatically.")
  public func setIndexConfiguration(_ json: String, completion: (((any Error)?) -> Void)? = nil) {
    setIndexConfiguration(Data(json.utf8), delivering { (_: Void?, error) in completion?(error) })
  }

  /// Creates the indexes in the JSON text, and drops declared indexes that are not in it. Returns when the
  /// indexes exist.
  @available(*, deprecated, message: "The indexes that queries need are built automatically.")
  nonisolated(nonsending) public func setIndexConfiguration(_ json: String) async throws {
    try await configureIndexes(Data(json.utf8))
  }

  /// Creates the indexes in the JSON text of a stream, and drops declared indexes that are not in it.
  @available(*, deprecated, message: "The indexes that queries need are built automatically.")
  public func setIndexConfiguration(_ stream: InputStream, completion: (((any Error)?) -> Void)? = nil) {
    setIndexConfiguration(stream.everything, delivering { (_: Void?, error) in completion?(error) })
  }

  /// Creates the indexes in the JSON text of a stream, and drops declared indexes that are not in it.
  /// Returns when the indexes exist.
  @available(*, deprecated, message: "The indexes that queries need are built automatically.")
  nonisolated(nonsending) public func setIndexConfiguration(_ stream: InputStream) async throws {
    try await configureIndexes(stream.everything)
  }

  nonisolated(nonsending) private func configureIndexes(_ json: Data?) async throws {
    try await awaitResult { setIndexConfiguration(json, $0) }
  }

  private func setIndexConfiguration(
    _ json: Data?, _ done: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let store = client().store
    store.work(
      after: 0,
      // Runs on a serial queue, so that after two concurrent calls exactly the later configuration is in
      // effect.
      inTurn: { $0.indexes },
      { view in
        try store.checkWritable()
        guard let json, let definitions = try? IndexConfiguration.definitions(in: json) else {
          throw FirestoreErrors.make(.invalidArgument, "Invalid Json format.")
        }
        for index in view.store.indexList where !index.isAutomatic && !definitions.contains(index.definition)
        {
          view.store.dropIndex(index.definition)
        }
        for definition in definitions { try view.store.createIndex(definition) }
      }, done: done)
  }
}

enum IndexConfiguration {
  private struct Root: Decodable {
    var indexes: [Index]?
  }

  private struct Index: Decodable {
    var collectionGroup: String
    var queryScope: String?
    var fields: [Field]
  }

  private struct Field: Decodable {
    var fieldPath: String
    var order: String?
    var arrayConfig: String?
  }

  static func definitions(in json: Data) throws -> [IndexDefinition] {
    try (JSONDecoder().decode(Root.self, from: json).indexes ?? []).compactMap(definition)
  }

  /// Returns nil for an index of document names only, which every database has.
  private static func definition(_ index: Index) throws -> IndexDefinition? {
    var names: OrderBy.Direction?
    let fields = try index.fields.compactMap { field -> IndexDefinition.Field? in
      let path = try StoredFieldPath(canonical: field.fieldPath)
      guard path != .documentID else {
        names = field.order == "DESCENDING" ? .descending : .ascending
        return nil
      }
      if field.arrayConfig != nil { return IndexDefinition.Field(path, .element) }
      return IndexDefinition.Field(path, .value(field.order == "DESCENDING" ? .descending : .ascending))
    }
    guard !fields.isEmpty else { return nil }
    let scope: IndexDefinition.Scope = index.queryScope == "COLLECTION_GROUP" ? .collectionGroup : .collection
    return try IndexDefinition(index.collectionGroup, scope, fields, names: names)
  }
}

extension InputStream {
  /// Reads the stream to its end. Returns nil if it cannot be read.
  var everything: Data? {
    open()
    defer { close() }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe read(&buffer, maxLength: buffer.count)
      guard count >= 0 else { return nil }
      guard count > 0 else { return data }
      data.append(contentsOf: buffer[..<count])
    }
  }
}

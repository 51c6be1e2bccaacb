// Bundles in scenarios, read as the API reads them and loaded by the engine.

import DocumentStore
import Foundation
import OfflineSync

@testable import FirebaseFirestore

extension ScenarioRun {
  func load(bundle text: String) throws {
    let values = BundleValues(projectID: "test-project", databaseID: "(default)")
    var reader = BundleReader(Data(text.utf8), values)
    guard case .metadata(let id, let createTime, _, _)? = try reader.next()?.element else {
      throw ScenarioFailure("a bundle without metadata")
    }
    if let loaded = bundles[id], loaded >= createTime { return }
    var bundle = BundleContents(id: id, createTime: createTime)
    var queries: [String] = []
    while let element = try reader.next()?.element {
      switch element {
      case .metadata: throw ScenarioFailure("a bundle with metadata twice")
      case .namedQuery(let query): bundle.queries.append(query)
      case .documentMetadata(let path, let readTime, let exists, let names):
        queries = names
        if !exists {
          bundle.documents.append(BundledDocument(path: path, fields: nil, version: readTime, byteCount: 0))
        }
      case .document(let path, let fields, let updateTime):
        bundle.documents.append(
          BundledDocument(path: path, fields: fields, version: updateTime, byteCount: 0, queries: queries))
      }
    }
    try send(.load(bundle))
    bundles[id] = createTime
  }
}

// Reads the elements of a bundle, one after the other.
//
//   bundle    := element("metadata") element*
//   element   := decimal json            the number of bytes of the JSON object behind it
//   json      := {"metadata": …} | {"namedQuery": …} | {"documentMetadata": …} | {"document": …}

import DocumentStore
import Foundation
import OfflineSync

enum BundleElement {
  case metadata(id: String, createTime: StoredTimestamp, totalDocuments: Int, totalBytes: Int)
  case namedQuery(BundledQuery)
  case documentMetadata(path: DocumentPath, readTime: StoredTimestamp, exists: Bool, queries: [String])
  case document(path: DocumentPath, fields: StoredMap, updateTime: StoredTimestamp)
}

struct BundleReader {
  private let data: Data
  private let values: BundleValues
  private(set) var offset: Int

  init(_ data: Data, _ values: BundleValues) {
    self.data = data
    self.values = values
    offset = data.startIndex
  }

  /// Returns the next element; nil at the end.
  mutating func next() throws(BundleError) -> (element: BundleElement, byteCount: Int)? {
    guard offset < data.endIndex else { return nil }
    let start = offset
    let json = try nextObject()
    return (try element(json), offset - start)
  }

  private mutating func nextObject() throws(BundleError) -> [String: Any] {
    let digits = data[offset...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let count = Int(String(decoding: digits, as: UTF8.self)), count <= data.endIndex - digits.endIndex
    else { throw BundleError("The bundle has no valid length at byte \(offset).") }
    let body = data[digits.endIndex..<digits.endIndex + count]
    guard let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else {
      throw BundleError("The bundle has no JSON object at byte \(digits.endIndex).")
    }
    offset = body.endIndex
    return object
  }

  private func element(_ json: [String: Any]) throws(BundleError) -> BundleElement {
    if let metadata = json["metadata"] as? [String: Any] {
      guard let id = metadata["id"] as? String else { throw BundleError("The bundle has no id.") }
      return .metadata(
        id: id, createTime: try values.timestamp(metadata["createTime"]),
        totalDocuments: try values.count(metadata["totalDocuments"]),
        totalBytes: try values.count(metadata["totalBytes"]))
    }
    if let query = json["namedQuery"] as? [String: Any] {
      guard let name = query["name"] as? String, let bundled = query["bundledQuery"] as? [String: Any],
        let text = try? JSONSerialization.data(withJSONObject: bundled, options: .sortedKeys)
      else { throw BundleError("The bundle has a query without name or content.") }
      // The query is checked when the bundle is loaded, not at the first use of the query.
      let structured = try BundleQuery.query(bundled, values)
      return .namedQuery(
        BundledQuery(
          name: name, text: String(decoding: text, as: UTF8.self), query: structured,
          readTime: try values.timestamp(query["readTime"])))
    }
    if let metadata = json["documentMetadata"] as? [String: Any] {
      return .documentMetadata(
        path: try values.path(metadata["name"]), readTime: try values.timestamp(metadata["readTime"]),
        exists: metadata["exists"] as? Bool ?? false, queries: metadata["queries"] as? [String] ?? [])
    }
    if let document = json["document"] as? [String: Any] {
      let path = try values.path(document["name"])
      let fields = try values.fields(document["fields"] as? [String: Any] ?? [:])
      let time = try values.timestamp(document["updateTime"])
      // The document will be stored unchanged. So it is checked against the document limits, because the
      // store could not read a document that exceeds them.
      do throws(DocumentStoreError) {
        try DocumentLimits.checkForeign(
          StoredDocument(path: path, createTime: time, updateTime: time, fields: fields))
      } catch { throw BundleError("\(error)") }
      return .document(path: path, fields: fields, updateTime: time)
    }
    throw BundleError("The bundle has an element of an unknown kind before byte \(offset).")
  }
}

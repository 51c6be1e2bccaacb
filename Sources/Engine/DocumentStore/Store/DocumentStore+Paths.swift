// Which documents there are.

import ByteStore

extension DocumentStore {
  /// Where the documents of users are, in no order: all but those that are kept under reserved names.
  package func userPaths() throws(DocumentStoreError) -> [DocumentPath] {
    let (moment, _) = try moment {}
    var paths: [DocumentPath] = []
    try readAll(moment) { _, key, _ in
      guard DocumentKey.isOfDocument(key), let path = DocumentKey.decode(key),
        (try? path.check()) != nil
      else { return }
      paths.append(path)
    }
    return paths
  }
}

// Lists document paths.

import ByteStore

extension DocumentStore {
  /// The paths of all user documents, unordered. Reserved documents are left out.
  package func userPaths() throws(DocumentStoreError) -> [DocumentPath] {
    let (snapshot, _) = try byteSnapshot {}
    var paths: [DocumentPath] = []
    try readAll(snapshot) { _, key, _ in
      guard DocumentKey.isOfDocument(key), let path = DocumentKey.decode(key),
        (try? path.check()) != nil
      else { return }
      paths.append(path)
    }
    return paths
  }
}

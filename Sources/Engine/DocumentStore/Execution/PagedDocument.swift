// A document in a page of a result whose documents may be damaged.

import ByteStore

/// A document in a page, with its place in the order of all paths.
package struct PagedDocument: Sendable {
  package let path: DocumentPath
  /// Nil if the record cannot be decoded.
  package let document: StoredDocument?
  private let key: [UInt8]

  init(path: DocumentPath, document: StoredDocument?, key: [UInt8]) {
    self.path = path
    self.document = document
    self.key = key
  }

  /// Whether the path sorts before another one. A document sorts before the documents below it.
  package func precedes(_ other: PagedDocument) -> Bool { key.lexicographicallyPrecedes(other.key) }

  /// This document, or a placeholder for its path. Only the path counts where a page starts.
  package var start: StoredDocument {
    document ?? StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: StoredMap())
  }
}

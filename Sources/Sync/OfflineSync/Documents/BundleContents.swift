// The documents and queries of a loaded bundle.

public import DocumentStore

/// A document in a bundle.
public struct BundledDocument: Sendable {
  /// The path of the document.
  public var path: DocumentPath
  /// The fields; nil if the bundle records that the document does not exist.
  public var fields: StoredMap?
  /// The update time of the document. For an absent document, a time at which it did not exist.
  public var version: StoredTimestamp
  /// The approximate size of the document in bytes. The load divides the documents into commits by this size.
  public var byteCount: Int
  /// The names of the queries whose results contain the document.
  public var queries: [String]

  /// Creates a document of a bundle. Without `fields`, the document is recorded as absent.
  public init(
    path: DocumentPath, fields: StoredMap?, version: StoredTimestamp, byteCount: Int, queries: [String] = []
  ) {
    self.path = path
    self.fields = fields
    self.version = version
    self.byteCount = byteCount
    self.queries = queries
  }
}

/// A named query in a bundle.
public struct BundledQuery: Sendable {
  /// The name under which applications look the query up.
  public var name: String
  /// The query as encoded in the bundle.
  public var text: String
  /// The decoded query.
  public var query: StructuredQuery
  /// The time at which the query was executed.
  public var readTime: StoredTimestamp

  /// Creates a named query.
  public init(name: String, text: String, query: StructuredQuery, readTime: StoredTimestamp) {
    self.name = name
    self.text = text
    self.query = query
    self.readTime = readTime
  }
}

/// The contents of a bundle.
public struct BundleContents: Sendable {
  /// The id of the bundle.
  public var id: String
  /// The time at which the bundle was created.
  public var createTime: StoredTimestamp
  /// The documents of the bundle.
  public var documents: [BundledDocument] = []
  /// The queries in the order of the bundle. If two queries have the same name, the later one is used.
  public var queries: [BundledQuery] = []

  /// Creates a bundle without documents.
  public init(id: String, createTime: StoredTimestamp) {
    self.id = id
    self.createTime = createTime
  }
}

// Documents and queries that someone has packed elsewhere.

public import DocumentStore

/// A document as a bundle has it.
public struct BundledDocument: Sendable {
  /// Which document.
  public var path: DocumentPath
  /// Nil if the bundle says that there is none.
  public var fields: StoredMap?
  /// When it was like this.
  public var version: StoredTimestamp
  /// About how many, for the size of commits.
  public var byteCount: Int
  /// The names of the queries that have found it.
  public var queries: [String]

  /// A document of a bundle; no fields say that there is none.
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

/// A query as a bundle has it.
public struct BundledQuery: Sendable {
  /// What it is asked for by.
  public var name: String
  /// As it stands there.
  public var text: String
  /// What the name stands for.
  public var query: StructuredQuery
  /// When it was asked.
  public var readTime: StoredTimestamp

  /// A query under a name.
  public init(name: String, text: String, query: StructuredQuery, readTime: StoredTimestamp) {
    self.name = name
    self.text = text
    self.query = query
    self.readTime = readTime
  }
}

/// All that a bundle has.
public struct BundleContents: Sendable {
  /// The bundle's own name.
  public var id: String
  /// When it was made.
  public var createTime: StoredTimestamp
  /// Its documents.
  public var documents: [BundledDocument] = []
  /// In their order; of two with one name, the later one counts.
  public var queries: [BundledQuery] = []

  /// A bundle without documents yet.
  public init(id: String, createTime: StoredTimestamp) {
    self.id = id
    self.createTime = createTime
  }
}

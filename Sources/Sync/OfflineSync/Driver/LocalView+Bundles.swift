// Loading bundles into a database.
//
// Documents under names that users cannot write record what has been loaded:
//
//   __bundles__/<id>           createTime: when the bundle was created
//   __named_queries__/<name>   query: the text of the query as encoded in the bundle
//
// Backups include these documents, and no query of a user can return them.

internal import ByteStore
public import DocumentStore

extension LocalView {
  private static let commitBytesMax = 4 << 20

  /// Whether this bundle, or a newer bundle with the same id, has been loaded.
  public func hasBundle(_ id: String, from createTime: StoredTimestamp) throws(DocumentStoreError) -> Bool {
    guard case .timestamp(let loaded)? = try store.document(at: Self.bundlePath(id))?.fields["createTime"]
    else { return false }
    return loaded >= createTime
  }

  /// Commits the documents of the bundle that are newer than the stored ones. These documents keep the update
  /// times from the bundle. A later bundle therefore overwrites them, and later writes of users are newer
  /// than the documents of either bundle. The last commit records the bundle and its named queries. If an
  /// earlier commit fails, the bundle can be loaded again.
  ///
  /// Throws `invalidArgument`, and loads nothing, if a part of the bundle exceeds the limits.
  public func load(_ bundle: BundleContents) throws { try load(bundle, through: nil) }

  /// Loads a bundle. With a driver, the documents enter the cache like watch events, and pending writes stay
  /// applied on top. The named queries count as complete up to their read time, so a listener of a named
  /// query receives only later changes from the remote.
  package func load(_ bundle: BundleContents, through driver: SyncDriver?) throws {
    try RemoteLimits.check(bundle)
    let memories = Self.memories(of: bundle)
    for memory in memories {
      _ = try DocumentLimits.check(memory)
      try DocumentLimits.checkKey(of: memory.path)
    }
    if let driver {
      let failure = driver.wait { done in driver.send(.load(bundle), done) }
      // The bundle is recorded only after the load has succeeded.
      if let failure { throw failure }
      return try commit([], memories)
    }
    var rest = bundle.documents[...]
    while true {
      var byteCount = 0
      let chunk = rest.prefix { document in
        defer { byteCount += document.byteCount }
        return byteCount < Self.commitBytesMax
      }
      rest = rest[chunk.endIndex...]
      try commit(chunk, rest.isEmpty ? memories : [])
      if rest.isEmpty { return }
    }
  }

  private func commit(_ documents: ArraySlice<BundledDocument>, _ others: [Mutation]) throws {
    try store.transaction { transaction in
      var mutations: [Mutation] = []
      for document in documents {
        let stored = try transaction.document(at: document.path)
        // A document with equal fields is written, too, because its update time determines whether a later
        // bundle overwrites it.
        if let stored, stored.updateTime >= document.version { continue }
        mutations.append(Self.mutation(document, over: stored))
      }
      for mutation in mutations + others { try transaction.write(mutation) }
    }
  }

  private static func mutation(_ document: BundledDocument, over stored: StoredDocument?) -> Mutation {
    guard let fields = document.fields else { return .delete(document.path) }
    // Time 0 marks a pending write, so the smallest update time is 1.
    var time = document.version
    if time.microseconds == 0, let first = StoredTimestamp(microseconds: 1) { time = first }
    return .place(
      StoredDocument(
        path: document.path, createTime: min(stored?.createTime ?? time, time), updateTime: time,
        fields: fields))
  }

  /// Returns the text of a named query as encoded in its bundle.
  public func namedQuery(_ name: String) throws(DocumentStoreError) -> String? {
    guard case .string(let text)? = try store.document(at: Self.queryPath(name))?.fields["query"] else {
      return nil
    }
    return text
  }

  // MARK: Memories

  private static func memories(of bundle: BundleContents) -> [Mutation] {
    let queries = bundle.queries.map { query in
      Mutation.set(queryPath(query.name), StoredMap([("query", .string(query.text))]))
    }
    let memory = StoredMap([("createTime", .timestamp(bundle.createTime))])
    return queries + [.set(bundlePath(bundle.id), memory)]
  }

  private static func bundlePath(_ id: String) -> DocumentPath {
    DocumentPath(unchecked: ["__bundles__", segment(id)])
  }

  private static func queryPath(_ name: String) -> DocumentPath {
    DocumentPath(unchecked: ["__named_queries__", segment(name)])
  }

  /// Encodes any text as a path segment. The segment is never empty and contains no slash.
  private static func segment(_ text: String) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "=")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "%"): bytes += Array("%25".utf8)
      case UInt8(ascii: "/"): bytes += Array("%2f".utf8)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

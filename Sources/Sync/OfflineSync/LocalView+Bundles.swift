// Bundles: documents and queries that someone has packed elsewhere.
//
// What was loaded is remembered in documents whose names no user can write:
//
//   __bundles__/<id>           createTime: when the bundle was made
//   __named_queries__/<name>   query: the text of the query, as the bundle has it
//
// They stand in backups with all else, and no query of a user comes upon them.

internal import ByteStore
internal import Dispatch
public import DocumentStore

extension LocalView {
  private static let commitBytesMax = 4 << 20

  /// Whether this bundle, or a later one with its id, has been loaded.
  public func hasBundle(_ id: String, from createTime: StoredTimestamp) throws(DocumentStoreError) -> Bool {
    guard case .timestamp(let loaded)? = try store.document(at: Self.bundlePath(id))?.fields["createTime"]
    else { return false }
    return loaded >= createTime
  }

  /// Commits the documents that are newer than those that are there, with the times that the bundle gives them: so a
  /// later bundle is newer than this one, and what the user has written since is newer than both. That the bundle was
  /// loaded, and its queries, are part of the last commit: if something fails before, it can be loaded again.
  ///
  /// With a remote they come into the cache as if it had told them, and the queue stays over them. Its queries are known
  /// up to their time: whoever listens to one of them hears from the remote what is new since then.
  ///
  /// Throws `invalidArgument`, and loads nothing, if something in it is beyond the limits.
  public func load(_ bundle: BundleContents) throws {
    try RemoteLimits.check(bundle)
    let memories = Self.memories(of: bundle)
    for memory in memories {
      _ = try DocumentLimits.check(memory)
      try DocumentLimits.checkKey(of: memory.path)
    }
    if let driver {
      let isDone = DispatchSemaphore(value: 0)
      let failure = Locked<OfflineSyncError?>(nil)
      driver.send(.load(bundle)) { error in
        failure.withLock { $0 = error }
        isDone.signal()
      }
      isDone.wait()
      // It is remembered as loaded only if it was.
      if let error = failure.withLock({ $0 }) { throw error }
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
        // What is the same is placed too: its time says which bundles are older from now on.
        if let stored, stored.updateTime >= document.version { continue }
        mutations.append(Self.mutation(document, over: stored))
      }
      for mutation in mutations + others { try transaction.write(mutation) }
    }
  }

  private static func mutation(_ document: BundledDocument, over stored: StoredDocument?) -> Mutation {
    guard let fields = document.fields else { return .delete(document.path) }
    // Nothing is changed before the first microsecond: that time says that a write is pending.
    var time = document.version
    if time.microseconds == 0, let first = StoredTimestamp(microseconds: 1) { time = first }
    return .place(
      StoredDocument(
        path: document.path, createTime: min(stored?.createTime ?? time, time), updateTime: time,
        fields: fields))
  }

  /// The text of a query, as its bundle has it.
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

  /// Any text as a segment: never empty, and without a slash.
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

// The authority's calls outside the streams.

internal import DocumentStore
internal import OfflineSync

extension LoopbackServer {
  /// Reads the documents from one snapshot.
  func documents(at paths: [DocumentPath], as user: String?) throws(RemoteError) -> [RemoteDocument] {
    for path in paths { try checkRead(StructuredQuery(.document(path)), as: user) }
    do throws(DocumentStoreError) {
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      let absent = snapshot.time.map { SnapshotVersion($0) } ?? version
      var documents: [RemoteDocument] = []
      for path in paths {
        documents.append(
          try snapshot.document(at: path).map { RemoteDocument($0) }
            ?? RemoteDocument(path, nil, version: absent))
      }
      return documents
    } catch {
      throw RemoteError(error)
    }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?
  ) throws(RemoteError) -> [StoredValue] {
    try checkRead(query, as: user)
    do throws(DocumentStoreError) {
      return try store.aggregate(aggregates, over: query)
    } catch {
      throw RemoteError(error)
    }
  }

  /// Commits writes. Repeated calls commit repeatedly, because these writes have no batch number to
  /// deduplicate by.
  func commit(_ mutations: [Mutation], as user: String?) throws(RemoteError) -> SnapshotVersion {
    if let refusal = rules.mayWrite?(user, mutations) { throw refusal }
    do throws(DocumentStoreError) {
      return SnapshotVersion(try store.commit(mutations))
    } catch {
      // After an unknown outcome, a retry could apply the writes twice.
      if case .outcomeUnknown = error { throw .unanswered }
      throw RemoteError(error)
    }
  }

  private func checkRead(_ query: StructuredQuery, as user: String?) throws(RemoteError) {
    if let refusal = rules.mayRead?(user, query) { throw refusal }
  }
}

// The check that the clients and the authority agree.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirebaseFirestore
internal import OfflineSync

extension TestWorld {
  /// Waits until the world is idle, and throws `diverged` unless all clients agree with the authority: no
  /// client has pending writes, every listener shows what the authority has, and every client reads the same
  /// documents from these collections.
  ///
  /// ```swift
  /// func check(_ world: TestWorld) async throws {
  ///   world.network.restoreAll()
  ///   try await world.checkConvergence(of: "notes", "lists")
  /// }
  /// ```
  public func checkConvergence(of collections: String...) async throws {
    try await waitUntilIdle()
    var differences: [String] = []
    for client in clients {
      var queries: [StructuredQuery] = []
      for path in collections {
        let collection = client.firestore.collection(path)
        do { _ = try await collection.getDocuments(source: .server) } catch {
          differences.append("\(client) cannot read \(path) from the authority: \(error)")
          continue
        }
        let names = collection.path.split(separator: "/").map(String.init)
        queries.append(StructuredQuery(.collection(CollectionPath(unchecked: names))))
      }
      scheduler.perform { differences += self.differences(of: client, in: queries) }
    }
    if !differences.isEmpty { throw TestWorldError.diverged(differences) }
  }

  private func differences(of client: TestClient, in queries: [StructuredQuery]) -> [String] {
    guard let driver = client.driver else { return [] }
    if let work = driver.remainingWork {
      let cut = client.connection.remote.canReachAuthority ? "" : ", which is cut off,"
      return ["\(client)\(cut) waits for \(work)."]
    }
    var differences: [String] = []
    for viewed in driver.viewedQueries {
      let name = "The listener of \(viewed.query.canonicalID) at \(client)"
      if !viewed.isSynced { differences.append("\(name) is not in sync.") }
      differences += self.differences(name, viewed.documents, in: viewed.query)
    }
    for query in queries {
      let seen = Result { () throws(DocumentStoreError) in try driver.store.documents(query) }
      switch seen {
      case .success(let documents):
        differences += self.differences("\(client)", documents, in: query)
      case .failure(let error):
        differences.append("\(client) cannot read \(query.canonicalID): \(error)")
      }
    }
    return differences
  }

  /// Compares paths, order and fields. Times are not compared, because a listener is not notified if only
  /// they change.
  private func differences(
    _ name: String, _ seen: [StoredDocument], in query: StructuredQuery
  ) -> [String] {
    let expected: [StoredDocument]
    do { expected = try authority.documents(query) } catch { return ["The authority fails: \(error)"] }
    guard seen.map(\.path) == expected.map(\.path) else {
      return ["\(name) has \(seen.map(\.path)), and the authority has \(expected.map(\.path))."]
    }
    return zip(seen, expected).filter { $0.fields != $1.fields }.map { mine, theirs in
      "\(name) has \(mine.path) as \(mine.fields), and the authority has \(theirs.fields)."
    }
  }
}

// The readable part of a result, for callers that must tolerate damaged documents.

extension QueryRun {
  /// Returns up to `max` documents of the result, in the order in which they are found. Also returns the
  /// number of documents that were skipped as unreadable. Ignores the query's limit.
  func readableDocuments(
    max: Int
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], unreadable: Int) {
    var found: [StoredDocument] = []
    var seen = Set<UInt32>()
    var unreadable = 0
    defer { closeStreams() }
    try forEachCandidate { ordinal throws(DocumentStoreError) in
      guard seen.insert(ordinal).inserted else { return true }
      do throws(DocumentStoreError) {
        if let document = try document(ordinal), plan.query.matches(document) { found.append(document) }
      } catch {
        guard case .corrupted = error else { throw error }
        unreadable += 1
      }
      return found.count < max
    }
    return (found, unreadable)
  }
}

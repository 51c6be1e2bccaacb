// What of an answer can be read, for those who have to go on behind what cannot.

extension QueryRun {
  /// Documents of the answer, in the order in which they are found, until there are so many, and how many were passed
  /// over because they cannot be read. The limit of the query is not looked at.
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

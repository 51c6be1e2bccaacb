// Deletes a part of a database.

internal import Authority
internal import DocumentStore
internal import OfflineSync

/// Deletes documents by commits of the authority, so that listeners hear of them.
struct DocumentDeletion {
  /// The number of documents in a commit. Small databases are deleted in one.
  private static let commitMax = 5000

  private let part: DocumentsPart
  private let authority: Authority

  init(_ part: DocumentsPart, of authority: Authority) {
    self.part = part
    self.authority = authority
  }

  /// Deletes the documents that exist now. Rules do not apply.
  func run() throws(RemoteError) {
    guard let store = authority.store else {
      throw RemoteError(.unimplemented, "The documents of this database cannot be deleted at once.")
    }
    let paths: [DocumentPath]
    do throws(DocumentStoreError) { paths = try store.userPaths() } catch { throw RemoteError(error) }
    var rest = paths.filter { $0.segments.starts(with: part.segments) }[...]
    defer { authority.tellTime() }
    while !rest.isEmpty {
      let mutations = rest.prefix(Self.commitMax).map { Mutation($0, .delete, precondition: .none) }
      _ = try authority.backend.commit(authority.life.commit(of: mutations))
      rest = rest.dropFirst(Self.commitMax)
    }
  }
}

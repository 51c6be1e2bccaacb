// What the calls of a service share.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The service as one call sees it. Each call is a method in an extension, which takes the request and
/// returns the response, or passes the responses of a stream to `send`.
struct CallContext: Sendable {
  let directory: DatabaseDirectory
  let metadata: CallMetadata
  let options: ServiceOptions

  var user: String? { metadata.user }

  var owner: TransactionTable.Owner {
    TransactionTable.Owner(user: metadata.user, connection: metadata.connection)
  }

  /// The limits for a request, which may be one to `database`.
  func wireLimits(for database: ServedDatabase? = nil) -> WireLimits {
    var limits = options.wireLimits
    limits.documents = database?.documentReading ?? directory.documentReading
    return limits
  }

  /// The database and the path in the name of a document.
  func document(_ name: String) throws(RemoteError) -> (database: ServedDatabase, path: DocumentPath) {
    let parts: ResourceName
    do throws(WireError) { parts = try ResourceName(name, as: .document) } catch { throw RemoteError(error) }
    let database = try directory.database(
      DatabaseName(projectID: parts.projectID, databaseID: parts.databaseID))
    return (database, DocumentPath(unchecked: parts.segments))
  }

  /// The database with a name, as in `projects/p/databases/d`.
  func database(_ name: String) throws(RemoteError) -> ServedDatabase {
    try directory.database(try DatabaseName(name))
  }
}

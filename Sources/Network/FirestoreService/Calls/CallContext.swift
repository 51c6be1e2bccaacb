// The state that the calls of a service share.

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
  /// The waits of the call, which end with it.
  let waits: CallWaits
  /// Whether the call may wait for a database that another call opens, or open it.
  var mayBlock = true

  var user: String? { metadata.user }

  /// The client of the call's commits.
  var client: ServiceClient {
    ServiceClient(user: metadata.user, connection: metadata.connection, waits: waits)
  }

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
    let database = try database(DatabaseName(projectID: parts.projectID, databaseID: parts.databaseID))
    return (database, DocumentPath(unchecked: parts.segments))
  }

  /// The database with a name, as in `projects/p/databases/d`.
  func database(_ name: String) throws(RemoteError) -> ServedDatabase {
    try database(try DatabaseName(name))
  }

  /// The database of a parent, which is the root or a document.
  func database(ofParent parent: String) throws(RemoteError) -> ServedDatabase {
    try database(try DatabaseName.database(of: parent))
  }

  private func database(_ name: DatabaseName) throws(RemoteError) -> ServedDatabase {
    if let database = directory.known(name) { return database }
    guard mayBlock else { throw SingleRequestCall.mustBlock }
    return try directory.database(name)
  }
}

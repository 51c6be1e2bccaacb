// The databases of a server.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// Finds the databases that requests name. Usable from any thread.
protocol DatabaseSource: AnyObject, Sendable {
  /// Finds a database, and opens it if necessary, which may take time. Throws NOT_FOUND if there is none.
  func authority(of name: DatabaseName) throws(RemoteError) -> Authority
  /// All open databases, in the order of their names.
  var openDatabases: [OpenDatabase] { get }
  /// Closes the databases that the source has opened.
  func close()
}

/// A database that is open.
struct OpenDatabase: Sendable {
  let name: DatabaseName
  let store: DocumentStore
  let authority: Authority
}

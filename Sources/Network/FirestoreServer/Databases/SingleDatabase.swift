// A server over one store, which its app has opened.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// One database. The app closes its store.
final class SingleDatabase: DatabaseSource {
  private let database: OpenDatabase

  init(_ database: OpenDatabase) { self.database = database }

  func authority(of name: DatabaseName) throws(RemoteError) -> Authority {
    guard name == database.name else {
      throw RemoteError(
        .notFound,
        "The database \(shortened(name.text)) does not exist. The server has \(database.name.text) only.")
    }
    return database.authority
  }

  var openDatabases: [OpenDatabase] { [database] }

  func close() {}
}

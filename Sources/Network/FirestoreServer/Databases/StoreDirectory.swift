// Where programs find the store of a database, to import and export it while no server has it open.

internal import FirestoreWire
internal import OfflineSync

extension ServerConfiguration {
  /// The directory of the store of a database, such as `projects/my-project/databases/(default)`, in the
  /// directory of a server. The store may not exist yet.
  package func storeDirectory(of database: String, in directory: String) throws(ServerError) -> String {
    do throws(RemoteError) {
      return try CheckedDatabase(DatabaseName(database), isEmulator: isEmulator).path(in: directory)
    } catch {
      throw .invalidDatabase(database, reason: error.message)
    }
  }
}

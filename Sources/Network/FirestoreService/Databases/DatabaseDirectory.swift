// The databases of a service, by name.

internal import Authority
internal import ByteStore
internal import FirestoreWire
internal import OfflineSync

/// Finds databases, and keeps the state of those that were found.
final class DatabaseDirectory: Sendable {
  typealias Find = @Sendable (DatabaseName) throws(RemoteError) -> Authority

  private let options: ServiceOptions
  private let find: Find
  private let served = Locked<[DatabaseName: ServedDatabase]>([:])

  init(_ options: ServiceOptions, _ find: @escaping Find) {
    self.options = options
    self.find = find
  }

  /// Reads documents in requests whose database is not known yet. With several databases, the documents
  /// belong to no store.
  var documentReading: DocumentReading {
    served.withLock { $0.count == 1 ? $0.first?.value.documentReading : nil } ?? .standard
  }

  func database(_ name: DatabaseName) throws(RemoteError) -> ServedDatabase {
    if let database = served.withLock({ $0[name] }) { return database }
    let authority = try find(name)
    return try served.withLock { served throws(RemoteError) in
      if let database = served[name] { return database }
      let database = try ServedDatabase(name, authority, options: options)
      served[name] = database
      return database
    }
  }
}

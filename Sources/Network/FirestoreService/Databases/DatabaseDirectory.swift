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
  private let places = Locked<[DatabaseName: Place]>([:])

  private enum Place {
    /// A call is finding the database. Other calls that name it wait.
    case finding
    case served(ServedDatabase)

    var isFinding: Bool { if case .finding = self { true } else { false } }
    var database: ServedDatabase? { if case .served(let database) = self { database } else { nil } }
  }

  init(_ options: ServiceOptions, _ find: @escaping Find) {
    self.options = options
    self.find = find
  }

  /// Reads documents in requests whose database is not known yet. With several databases, the documents
  /// belong to no store.
  var documentReading: DocumentReading {
    places.withLock { $0.count == 1 ? $0.first?.value.database?.documentReading : nil } ?? .standard
  }

  /// The database with a name, if it was found before. Does not block.
  func known(_ name: DatabaseName) -> ServedDatabase? { places.withLock { $0[name]?.database } }

  /// The database with a name. The first call finds it. If that fails, the next call tries again.
  func database(_ name: DatabaseName) throws(RemoteError) -> ServedDatabase {
    let known: ServedDatabase? = places.withLock(when: { $0[name]?.isFinding != true }) { places in
      if let database = places[name]?.database { return database }
      places[name] = .finding
      return nil
    }
    if let known { return known }
    do throws(RemoteError) {
      let database = try ServedDatabase(name, try find(name), options: options)
      set(.served(database), at: name)
      return database
    } catch {
      set(nil, at: name)
      throw error
    }
  }

  /// The number of open transactions of all databases.
  var openTransactionCount: Int {
    let databases = places.withLock { $0.values.compactMap(\.database) }
    return databases.reduce(0) { $0 + $1.transactions.count }
  }

  /// Ends all locks of all databases. Nothing is locked from then on.
  func endLocks() {
    let databases = places.withLock { $0.values.compactMap(\.database) }
    for database in databases { database.locks.endAll() }
  }

  private func set(_ place: Place?, at name: DatabaseName) {
    places.withLock { $0[name] = place }
    places.wakeAll()
  }
}

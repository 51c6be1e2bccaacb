// Creates, caches and opens instances.

private import ByteStore
public import FirebaseCore
private import Foundation

extension Firestore {
  private struct Key: Hashable {
    var app: String
    var database: String
  }

  private static let instances = Locked<[Key: Firestore]>([:])

  /// The default database of the default app.
  public class func firestore() -> Firestore { firestore(app: defaultApp, database: defaultDatabase) }

  /// The default database of `app`.
  public class func firestore(app: FirebaseApp) -> Firestore {
    firestore(app: app, database: defaultDatabase)
  }

  /// A database of the default app. Each ID has a separate database.
  public class func firestore(database: String) -> Firestore {
    firestore(app: defaultApp, database: database)
  }

  /// A database of `app`. Each ID has a separate database.
  public class func firestore(app: FirebaseApp, database: String) -> Firestore {
    let key = Key(app: app.name, database: database)
    let (instance, isNew) = instances.withLock { instances in
      // A cached instance is ignored if its app was deleted, because a new app may have the same name. A new
      // instance for a deleted app is not cached.
      if let instance = instances[key], instance.app === app { return (instance, false) }
      let instance = Firestore(app: app, databaseID: database)
      if FirebaseApp.app(name: app.name) === app { instances[key] = instance }
      return (instance, true)
    }
    if isNew {
      // Runs outside the lock: if the app is already deleted, `addTeardown` runs the teardown at once, and
      // the teardown takes the lock.
      let teardown = app.addTeardown {
        instance.forget()
        // The deletion of an app must not complete before its stores are closed.
        instance.terminateAndWait()
      }
      instance.keep(teardown)
    }
    return instance
  }

  private static var defaultApp: FirebaseApp {
    guard let app = FirebaseApp.app() else {
      ProgrammerError.trap(
        "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Firestore")
    }
    return app
  }

  /// Removes this instance from the cache. The next request for the same database creates a new instance.
  func forget() {
    let key = Key(app: app.name, database: databaseID)
    Self.instances.withLock { if $0[key] === self { $0[key] = nil } }
  }

  // MARK: Without an app

  /// Opens the database in a directory, and creates it if it does not exist. Needs no app.
  ///
  /// ```swift
  /// let firestore = try Firestore.open(at: URL(fileURLWithPath: "/srv/data/shop"))
  /// ```
  ///
  /// With the access `readOnly`, opens an existing database beside the process that writes it, which may
  /// also be this process. See `FirestoreAccess`.
  ///
  /// `settings` become the settings of the instance, such as its callback queue, durability and remote. They
  /// cannot be changed later. Cache settings are ignored, because the directory is given.
  ///
  /// Each call creates a separate instance. All instances of a directory with the same access share one
  /// store, with the durability, the memory budget and the remote of the first instance. The store is closed
  /// when the last instance is terminated or released. Throws `unavailable` if another process writes the
  /// database and `access` is `readAndWrite`, and `dataLoss` if the store is damaged. Throws
  /// `resourceExhausted` on a full disk. Throws `invalidArgument` for a URL that is not a local directory,
  /// and for a memory budget below 16 MiB. With `readOnly`, throws `failedPrecondition` if there is no
  /// database or if it is the cache of a remote, and `invalidArgument` for settings with a remote.
  public class func open(
    at directory: URL, access: FirestoreAccess = .readAndWrite,
    settings: FirestoreSettings = FirestoreSettings()
  ) throws -> Firestore {
    let path = try localPath(of: directory)
    guard access == .readAndWrite || (settings.remote == nil && settings.values.remoteHost == nil) else {
      throw FirestoreErrors.make(
        .invalidArgument,
        "A database that is open for reading only has no remote. Leave FirestoreSettings.remote and "
          + "FirestoreSettings.host unchanged, or open the database with the access readAndWrite.")
    }
    let instance = Firestore(
      app: .unregistered(name: path), databaseID: defaultDatabase,
      place: access == .readOnly ? .readOnly(path) : .directory(path))
    instance.settings = settings
    try instance.client().store.open()
    return instance
  }

  /// Throws `invalidArgument` for a URL that is not a local directory.
  static func localPath(of directory: URL) throws -> String {
    guard directory.namesLocalFile else {
      throw FirestoreErrors.make(.invalidArgument, "\(directory) is not a directory of this machine.")
    }
    return directory.standardizedFileURL.path
  }

  /// Returns a new, empty database in memory, for tests. Its contents are lost when the instance is
  /// terminated or released.
  public class func memory() -> Firestore {
    Firestore(app: .unregistered(name: "memory"), databaseID: defaultDatabase, place: .memory(UUID()))
  }

  /// Returns a database in the simulation that the settings name.
  package class func simulated(_ settings: FirestoreSettings) -> Firestore {
    let name = settings.environment?.name ?? "memory"
    let instance = Firestore(
      app: .unregistered(name: name), databaseID: defaultDatabase, place: .memory(UUID()))
    instance.settings = settings
    return instance
  }
}

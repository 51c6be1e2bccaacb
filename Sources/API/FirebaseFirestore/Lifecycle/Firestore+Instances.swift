// Where instances come from.

public import FirebaseCore
private import Foundation

extension Firestore {
  private struct Key: Hashable {
    var app: String
    var database: String
  }

  private static let instances = Guarded<[Key: Firestore]>([:])

  /// The default database of the default app.
  public class func firestore() -> Firestore { firestore(app: defaultApp, database: defaultDatabase) }

  /// The default database of `app`.
  public class func firestore(app: FirebaseApp) -> Firestore {
    firestore(app: app, database: defaultDatabase)
  }

  /// A database of the default app. Each id is a database of its own.
  public class func firestore(database: String) -> Firestore {
    firestore(app: defaultApp, database: database)
  }

  /// A database of `app`. Each id is a database of its own.
  public class func firestore(app: FirebaseApp, database: String) -> Firestore {
    let key = Key(app: app.name, database: database)
    let (instance, isNew) = instances.withLock { instances in
      // An app that was deleted keeps nothing here: a new one of the same name may have come.
      if let instance = instances[key], instance.app === app { return (instance, false) }
      let instance = Firestore(app: app, databaseID: database)
      if FirebaseApp.app(name: app.name) === app { instances[key] = instance }
      return (instance, true)
    }
    if isNew {
      // Outside the lock: an app that is gone already runs it at once.
      let teardown = app.addTeardown {
        instance.forget()
        // The app is gone when its stores are.
        instance.endNow()
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

  /// The next call for this database makes a new instance.
  func forget() {
    let key = Key(app: app.name, database: databaseID)
    Self.instances.withLock { if $0[key] === self { $0[key] = nil } }
  }

  // MARK: Without an app

  /// The database in a directory, opened, or made if there is none. No app is needed.
  ///
  /// ```swift
  /// let firestore = try Firestore.open(at: URL(fileURLWithPath: "/srv/data/shop"))
  /// ```
  ///
  /// `settings` are those of the instance, which cannot be changed later: the callback queue, the durability, a remote.
  /// The directory is what is opened, whatever they say of a cache.
  ///
  /// Each call makes an instance of its own, and all of one directory share one store, whose durability and remote are
  /// those with which it was opened first. It is closed when the last of them is terminated or gone. Throws if the
  /// store cannot be opened: `unavailable` if another process has it, `dataLoss` if it is damaged, `resourceExhausted`
  /// on a full disk, `invalidArgument` for a URL that names no directory of this machine.
  public class func open(
    at directory: URL, settings: FirestoreSettings = FirestoreSettings()
  ) throws -> Firestore {
    let path = try localPath(of: directory)
    let instance = Firestore(
      app: .unregistered(name: path), databaseID: defaultDatabase, place: .directory(path))
    instance.settings = settings
    try instance.client().open()
    return instance
  }

  /// Throws `invalidArgument` for a URL that names no directory of this machine.
  static func localPath(of directory: URL) throws -> String {
    guard directory.namesLocalFile else {
      throw FirestoreErrors.make(.invalidArgument, "\(directory) is no directory of this machine.")
    }
    return directory.standardizedFileURL.path
  }

  /// A new, empty database that is nowhere on disk, and gone when it is terminated or nobody has it any more.
  /// For tests.
  public class func memory() -> Firestore {
    Firestore(app: .unregistered(name: "memory"), databaseID: defaultDatabase, place: .memory(UUID()))
  }
}

// The instances of `Auth`, one for each app.

import ByteStore
public import FirebaseCore

extension Auth {
  private static let instances = Locked<[String: Auth]>([:])

  /// Returns the instance of the default app. Traps if the default app is not configured.
  public class func auth() -> Auth {
    guard let app = FirebaseApp.app() else {
      ProgrammerError.trap(
        "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Auth")
    }
    return auth(app: app)
  }

  /// Returns the instance of an app. The first call restores the user who was signed in when the process last
  /// ended. From then on, the databases of the app with a remote follow the user.
  ///
  /// If the app was deleted, or belongs to a database that was opened by its location, the instance has no
  /// user, and every sign-in fails with `operationNotAllowed`.
  public class func auth(app: FirebaseApp) -> Auth {
    let (auth, isNew, isConfigured) = instances.withLock { instances in
      // An instance is ignored if its app was deleted, because a new app may have the same name.
      if let known = instances[app.name], known.owner === app { return (known, false, true) }
      let auth = Auth(app)
      let isConfigured = FirebaseApp.app(name: app.name) === app
      if isConfigured { instances[app.name] = auth }
      return (auth, true, isConfigured)
    }
    guard isConfigured else {
      auth.end()
      return auth
    }
    // Runs outside the lock: if the app is already deleted, `addTeardown` runs the teardown at once, and the
    // teardown takes the lock.
    if isNew {
      app.addTeardown {
        instances.withLock { if $0[app.name] === auth { $0[app.name] = nil } }
        auth.end()
      }
    }
    auth.restore()
    return auth
  }
}

// The remote at the host of the settings.
//
// The trait `Remote` of the package brings the connections. Without it, a program with a host is told so.

import FirebaseCore
import OfflineSync

#if Remote
import FirestoreRemote
#endif

/// Where the settings say that the authority is.
struct RemoteHost: Sendable {
  var name: String
  var isSSLEnabled: Bool

  /// The remote of a database at this host. Traps if the app has no project, or if the package was built
  /// without the trait. No connection is made before the first request.
  func remote(of app: FirebaseApp, database: String) -> any Remote {
    let options = app.options
    guard let project = options.projectID, !project.isEmpty else {
      ProgrammerError.trap("FIROptions.projectID must be set to a valid project ID.")
    }
    #if Remote
    var remote = FirestoreRemoteOptions(project: project)
    remote.database = database
    remote.host = name
    remote.isSSLEnabled = isSSLEnabled
    remote.apiKey = options.apiKey
    remote.appID = options.googleAppID.isEmpty ? nil : options.googleAppID
    // Without encryption the host is an emulator, which takes the word of its clients for who they are.
    if !isSSLEnabled { remote.credentials = { request in request.user.map { .unsigned(for: $0) } } }
    return FirestoreRemote(remote)
    #else
    ProgrammerError.trap(
      "The host \(name) cannot be used, because Dugout was built without its package trait 'Remote'. Enable the "
        + "trait, or leave FirestoreSettings.host unchanged.")
    #endif
  }
}

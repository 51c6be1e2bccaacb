// The remote at the host of the settings.

import FirebaseCore
import FirestoreRemote
import OfflineSync

/// The address of the authority in the settings.
struct RemoteHost: Sendable {
  var name: String
  var isSSLEnabled: Bool

  /// The remote of a database at this host. Traps if the app has no project. No connection is made before the
  /// first request.
  func remote(of app: FirebaseApp, database: String) -> any Remote {
    let options = app.options
    guard let project = options.projectID, !project.isEmpty else {
      ProgrammerError.trap("FIROptions.projectID must be set to a valid project ID.")
    }
    var remote = FirestoreRemoteOptions(project: project)
    remote.database = database
    remote.host = name
    remote.isSSLEnabled = isSSLEnabled
    remote.apiKey = options.apiKey
    remote.appID = options.googleAppID.isEmpty ? nil : options.googleAppID
    // Without encryption the host is an emulator, which takes the word of its clients for who they are.
    if !isSSLEnabled { remote.credentials = { request in request.user.map { .unsigned(for: $0) } } }
    return FirestoreRemote(remote)
  }
}

// The connections of a remote.

internal import FirestoreWire
internal import HTTPClient
internal import OfflineSync

extension FirestoreRemote {
  /// The connections to the host of the options, all by one transport. No connection is made here.
  static func connections(
    _ options: FirestoreRemoteOptions, on scheduler: any SyncScheduler
  ) -> (transport: any WebTransport, channels: any MessageChannels) {
    let transport = SystemTransport.make(host: options.host, isTLS: options.isSSLEnabled)
    return (transport, WebChannels(transport, database: options.name.text, scheduler: scheduler))
  }
}

extension FirestoreRemoteOptions {
  var name: DatabaseName { DatabaseName(projectID: project, databaseID: database) }
}

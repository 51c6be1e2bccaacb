// The settings of an app's remote, which determine the backend.

import ObjectSync
import OfflineSync

struct RemoteSettings: Sendable {
  var remote: (any BlobRemote)?
  var attachment = RemoteAttachment.refuse
  var acknowledgement = StorageAcknowledgement.server

  func makeBackend() -> any StorageBackend {
    guard let remote else { return LocalBackend() }
    return RemoteBackend(remote, attachment: attachment, acknowledgement: acknowledgement)
  }
}

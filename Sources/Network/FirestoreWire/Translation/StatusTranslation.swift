// Statuses of messages, and errors of a remote.

package import OfflineSync

extension Wire.Status {
  /// The status for an error.
  package init(_ error: RemoteError) {
    self.init()
    code = Int32(error.code.rawValue)
    message = error.message
  }
}

extension RemoteError {
  /// The error of a status; nil if the status is OK. A code that is not one of gRPC's counts as `unknown`.
  package init?(_ status: Wire.Status) {
    guard status.code != 0 else { return nil }
    self.init(Code(rawValue: Int(status.code)) ?? .unknown, status.message)
  }
}

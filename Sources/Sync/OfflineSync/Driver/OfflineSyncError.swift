// The errors of OfflineSync.

public import DocumentStore

/// An error of OfflineSync.
public enum OfflineSyncError: Error, Hashable, Sendable {
  /// The remote refused the request or could not be reached.
  case remote(RemoteError)
  /// The remote sent data that exceeds the limits of a database. The data was not stored, and the listener
  /// stays registered.
  case refused(RemoteRefusal)
  /// The store of this client failed.
  case store(DocumentStoreError)
}

extension OfflineSyncError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .remote(let error): error.description
    case .refused(let refusal): refusal.description
    case .store(let error): error.description
    }
  }
}

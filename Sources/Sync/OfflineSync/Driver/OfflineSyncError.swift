// What can go wrong here.

public import DocumentStore

/// What OfflineSync throws.
public enum OfflineSyncError: Error, Hashable, Sendable {
  /// The remote said no, or could not be reached.
  case remote(RemoteError)
  /// The remote sent something that is beyond the limits. It was not stored. The listener goes on.
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

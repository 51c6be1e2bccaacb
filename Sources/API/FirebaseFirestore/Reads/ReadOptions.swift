// The options of a read.

import DocumentStore

/// The source of a read. Without a remote, the database is both server and cache.
public enum FirestoreSource: UInt, Sendable {
  /// The remote if it can be reached, and otherwise the local cache.
  case `default` = 0
  /// The remote only. The read fails if the remote cannot be reached.
  case server = 1
  /// The local cache only.
  case cache = 2
}

extension FirestoreSource {
  var readSource: ReadSource {
    switch self {
    case .default: .default
    case .server: .server
    case .cache: .cache
    }
  }
}

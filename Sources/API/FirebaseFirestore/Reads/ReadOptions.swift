// What a reader can choose.

import OfflineSync

/// Where a read may look. Without a remote, the database is server and cache at once.
public enum FirestoreSource: UInt, Sendable {
  /// The remote if it can be reached, or else what is here.
  case `default` = 0
  /// The remote, or an error.
  case server = 1
  /// What is here.
  case cache = 2
}

/// What to read where the server has not yet set a timestamp. Without a remote that never happens.
public enum ServerTimestampBehavior: Int, Sendable {
  /// Null.
  case none = 0
  /// What the clock here said.
  case estimate = 1
  /// What the field had before.
  case previous = 2
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

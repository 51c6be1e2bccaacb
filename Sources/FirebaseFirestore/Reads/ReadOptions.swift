// What a reader can choose.

import OfflineSync

/// Where a read may look. Without a remote, the database is server and cache at once.
public enum FirestoreSource: UInt, Sendable {
  case `default` = 0
  case server = 1
  case cache = 2
}

/// What to read where the server has not yet set a timestamp. Without a remote that never happens.
public enum ServerTimestampBehavior: Int, Sendable {
  case none = 0
  case estimate = 1
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

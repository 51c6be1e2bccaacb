// Replaces the timestamps that a remote has not set yet.

import DocumentStore

extension StoredDocument {
  func withTimes(_ behavior: ServerTimestampBehavior) -> StoredDocument {
    StoredDocument(
      path: path, createTime: createTime, updateTime: updateTime, fields: fields.withTimes(behavior))
  }
}

extension CodedValue {
  /// Replaces this value if it is a pending timestamp. Values inside this value are replaced only when they
  /// are read.
  func withTimes(_ behavior: ServerTimestampBehavior) -> CodedValue {
    guard behavior != .none, case .stored(let stored) = self, case .pendingTimestamp = stored else {
      return self
    }
    return .stored(stored.withTimes(behavior))
  }
}

extension StoredMap {
  fileprivate func withTimes(_ behavior: ServerTimestampBehavior) -> StoredMap {
    StoredMap(entries.map { ($0.name, $0.value.withTimes(behavior)) })
  }
}

extension StoredValue {
  fileprivate func withTimes(_ behavior: ServerTimestampBehavior) -> StoredValue {
    switch (self, behavior) {
    case (.pendingTimestamp(let time, _), .estimate): .timestamp(time)
    case (.pendingTimestamp(_, let previous), .previous): previous ?? .null
    case (.map(let map), _): .map(map.withTimes(behavior))
    case (.array(let elements), _): .array(elements.map { $0.withTimes(behavior) })
    default: self
    }
  }
}

// Reads stored fields and published states of documents without building a dictionary.

import DocumentStore
package import FirebaseCore
private import OfflineSync

/// A field that usually holds a time.
package enum TimeField: Sendable {
  case absent
  /// The field holds null or a value of another type.
  case other
  case time(Timestamp)
}

/// A field of the outermost map that is read often. Its path is built once.
package struct StoredField: Sendable {
  package let name: String
  let path: StoredFieldPath

  package init(_ name: String) {
    self.name = name
    path = StoredFieldPath(unchecked: [name])
  }
}

extension DocumentSnapshot {
  /// The update time in microseconds; nil for a document that does not exist. A later state of the
  /// document has a greater version.
  package var version: Int64? { stateRecord.map { $0.updateTime.microseconds } }

  package func time(at field: StoredField) -> TimeField {
    guard let value = stateRecord?.value(at: field.path) else { return .absent }
    guard case .timestamp(let timestamp) = value else { return .other }
    return .time(Timestamp(timestamp))
  }

  ///  Returns the value of a top-level field, as bytes whose order is the order in which queries sort values.
  ///  An absent field sorts as null. A pending server timestamp sorts after all other times.
  package func sortBytes(of field: String) -> [UInt8] {
    (stateRecord?.value(at: StoredFieldPath(unchecked: [field])) ?? .null).sortBytes
  }

  /// The fields of the outermost map that hold pending server timestamps.
  package var pendingTimes: [String] {
    guard metadata.hasPendingWrites, let stored else { return [] }
    return stored.fields.entries.compactMap { entry -> String? in
      guard case .pendingTimestamp = entry.value else { return nil }
      return entry.name
    }
  }
}

extension DocumentReference {
  /// Returns the last published state of the document, without waiting for writes in progress. Returns nil if
  /// the document cannot be read, the store is not open yet, or the instance is terminated.
  package func publishedSnapshot() -> DocumentSnapshot? {
    // Must not open the store: the end of a commit may wait for the callback that calls this.
    guard let view = try? firestore.livingClient().store.openView, let path = try? storedPath else {
      return nil
    }
    return (try? view.record(at: path)).map { DocumentSnapshot(self, $0) }
  }
}

extension Firestore {
  /// Whether the database has a remote, which can reject local commits.
  package var hasRemote: Bool { (try? livingClient())?.hasRemote ?? false }
}

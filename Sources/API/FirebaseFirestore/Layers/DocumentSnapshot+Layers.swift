// What the layers above ask of a snapshot, without a dictionary in between.

import DocumentStore
package import FirebaseCore

/// A field that is expected to be a moment.
package enum TimeField: Sendable {
  case absent
  /// It is there, and no moment; null for instance.
  case other
  case moment(Timestamp)
}

extension DocumentSnapshot {
  /// The time of its last change in microseconds; nil for a document that does not exist. Of two states of one
  /// document, the later one has the larger.
  package var version: Int64? { stateRecord.map { $0.updateTime.microseconds } }

  /// A field of the outermost map.
  package func time(at field: LayerField) -> TimeField {
    guard let value = stateRecord?.value(at: field.path) else { return .absent }
    guard case .timestamp(let timestamp) = value else { return .other }
    return .moment(Timestamp(timestamp))
  }
}

/// A field that a layer asks for again and again.
package struct LayerField: Sendable {
  package let name: String
  let path: StoredFieldPath

  package init(_ name: String) {
    self.name = name
    path = StoredFieldPath(unchecked: [name])
  }
}

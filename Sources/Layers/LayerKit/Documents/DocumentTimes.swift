// The creation and update times of an object.

package import FirebaseCore
package import FirebaseFirestore
private import Foundation

/// The two times of an object. A time from a snapshot is decoded on demand.
package struct DocumentTimes {
  package static let createdAt = StoredField("createdAt")
  package static let updatedAt = StoredField("updatedAt")

  /// The time when the object was constructed. Each of the two times has this value until its own value is
  /// known.
  private let start: Date
  private var created: Timestamp?
  private var updated: Timestamp?
  /// The snapshot from which the object was created. `created` and `updated` take precedence over its times.
  private var snapshot: DocumentSnapshot?

  /// The times of a new object.
  package init() { start = Date() }

  /// The times of an object that was read. Objects of one query may share `readTime`.
  package init(read snapshot: DocumentSnapshot, at readTime: Date) {
    start = readTime
    self.snapshot = snapshot
  }

  package var createdAt: Timestamp {
    get { created ?? known(Self.createdAt) }
    set { created = newValue }
  }

  package var updatedAt: Timestamp {
    get { updated ?? known(Self.updatedAt) }
    set { updated = newValue }
  }

  private func known(_ field: StoredField) -> Timestamp {
    if case .time(let time) = snapshot?.time(at: field) { return time }
    return Timestamp(date: start)
  }

  /// Sets the times from the fields of the snapshot. If a field has another type, its time becomes the
  /// present time. If a field is absent, its time does not change.
  package mutating func update(from snapshot: DocumentSnapshot) {
    update { snapshot.time(at: $0) }
  }

  package mutating func update(from fields: [String: Any]) {
    update { field in
      guard let value = fields[field.name] else { return .absent }
      return (value as? Timestamp).map(TimeField.time) ?? .other
    }
  }

  private mutating func update(_ look: (StoredField) -> TimeField) {
    createdAt = Self.merge(look(Self.createdAt), createdAt)
    updatedAt = Self.merge(look(Self.updatedAt), updatedAt)
  }

  private static func merge(_ field: TimeField, _ known: @autoclosure () -> Timestamp) -> Timestamp {
    switch field {
    case .absent: known()
    case .other: Timestamp()
    case .time(let time): time
    }
  }
}

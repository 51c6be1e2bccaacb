// When a document was made and changed, as its instance knows it.

package import FirebaseCore
private import Foundation

/// The two times of an instance. What a snapshot says is looked up when somebody asks.
package struct DocumentTimes {
  package static let createdAt = LayerField("createdAt")
  package static let updatedAt = LayerField("updatedAt")

  /// The time of construction, which both are until something is known.
  private let start: Date
  private var created: Timestamp?
  private var updated: Timestamp?
  /// What was read, as long as nothing newer is known.
  private var snapshot: DocumentSnapshot?

  /// Of an instance that is made now.
  package init() { start = Date() }

  /// Of one that is made of what was read. Many that are made one after the other may share the moment.
  package init(read snapshot: DocumentSnapshot, at moment: Date) {
    start = moment
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

  private func known(_ field: LayerField) -> Timestamp {
    if case .moment(let moment) = snapshot?.time(at: field) { return moment }
    return Timestamp(date: start)
  }

  /// Fields that are there count, and mean now if they hold no moment; others leave what is known.
  package mutating func update(from snapshot: DocumentSnapshot) {
    update { snapshot.time(at: $0) }
  }

  package mutating func update(from fields: [String: Any]) {
    update { field in
      guard let value = fields[field.name] else { return .absent }
      return (value as? Timestamp).map(TimeField.moment) ?? .other
    }
  }

  private mutating func update(_ look: (LayerField) -> TimeField) {
    createdAt = Self.merge(look(Self.createdAt), createdAt)
    updatedAt = Self.merge(look(Self.updatedAt), updatedAt)
  }

  private static func merge(_ field: TimeField, _ known: @autoclosure () -> Timestamp) -> Timestamp {
    switch field {
    case .absent: known()
    case .other: Timestamp()
    case .moment(let moment): moment
    }
  }
}

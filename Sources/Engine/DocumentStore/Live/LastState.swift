// The state of a document that has left a view.

/// The last state of a document that a view has seen.
struct LastState: Sendable {
  /// The document has this state after all commits up to this number.
  let number: UInt64
  /// The time of the last of these commits; nil if it is unknown.
  let time: StoredTimestamp?
  /// Nil if the document does not exist.
  let document: StoredDocument?

  /// The reason why the document is not in the result any more. `old` is its state in the result.
  func departure(from old: StoredDocument) -> Departure {
    guard let document else { return .deleted(at: time) }
    return document == old ? .displaced : .changed(document)
  }
}

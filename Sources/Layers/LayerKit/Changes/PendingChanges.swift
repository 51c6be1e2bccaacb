// The changes of one snapshot while their objects are created.
//
//   - Each change waits for its object, unless it is a removal. Any thread may deliver an object, once per
//     change.
//   - The changes are ready when no object is missing. They are overdue when the timeout has passed.
//   - After the changes were applied, each further object is late and is applied alone.
//   - Changes of a one-time read keep their receiver alive until they are applied. The receiver keeps the
//     changes, so the two form a reference cycle. The last object or the timeout breaks the cycle.

private import ByteStore
private import FirebaseCore
package import FirebaseFirestore

/// The change of one document in a snapshot.
package struct PendingChange: Sendable {
  package enum Kind: Sendable {
    case added
    case modified
    case removed
    /// The database reports a modification, but the list may not have the document yet.
    case modifiedOrAdded

    package init(_ type: DocumentChangeType) {
      self =
        switch type {
        case .added: .added
        case .modified: .modified
        case .removed: .removed
        }
    }
  }

  package var kind: Kind
  package let document: QueryDocumentSnapshot

  package init(kind: Kind, document: QueryDocumentSnapshot) {
    self.kind = kind
    self.document = document
  }

  package var reference: DocumentReference { document.reference }
}

package final class PendingChanges<T>: Sendable {
  package typealias Change = PendingChange

  package enum Answer {
    case waiting
    case nothing
    case element(T)

    package var element: T? { if case .element(let element) = self { element } else { nil } }
  }

  private struct State: @unchecked Sendable {
    // Unchecked, because objects are not sendable. Each object arrives with its answer, and the receiver
    // takes the object once.
    var answers: [Answer]
    var waiting: Int
    var isOverdue = false
    var isApplied = false
    /// The receiver of a one-time read, until its changes are applied.
    var receiver: AnyObject?
  }

  package let source: QuerySnapshot?
  package let changes: [Change]
  /// Whether a listener delivered the changes. False for a one-time read.
  package let isLive: Bool
  private let state: Locked<State>

  package init(_ source: QuerySnapshot?, _ changes: [Change], isLive: Bool = false) {
    self.source = source
    self.changes = changes
    self.isLive = isLive
    state = Locked(
      State(answers: Array(repeating: .waiting, count: changes.count), waiting: changes.count))
  }

  /// Stores the object of one change. Only the first call for an index counts. Returns whether the receiver
  /// must check the changes again.
  @discardableResult
  package func answer(_ index: Int, _ element: T?) -> Bool {
    let answer = Transferred(element.map(Answer.element) ?? .nothing)
    return state.withLock { state in
      guard case .waiting = state.answers[index] else { return false }
      state.answers[index] = answer.value
      state.waiting -= 1
      return state.waiting == 0 || state.isApplied
    }
  }

  /// Stores the objects of all changes.
  package func answer(_ elements: [T?]) {
    let answers = Transferred(elements.map { $0.map(Answer.element) ?? .nothing })
    state.withLock { state in
      state.answers = answers.value
      state.waiting = 0
    }
  }

  /// Marks the changes as overdue. If no object is missing or the changes were already applied, does nothing
  /// and returns false.
  package func expire() -> Bool {
    state.withLock { state in
      guard state.waiting > 0, !state.isApplied else { return false }
      state.isOverdue = true
      return true
    }
  }

  package var isWaiting: Bool { state.withLock { $0.waiting > 0 } }

  package var canBeApplied: Bool { state.withLock { $0.waiting == 0 || $0.isOverdue } }

  package var isApplied: Bool { state.withLock { $0.isApplied } }

  /// Keeps the receiver alive until the changes are taken.
  package func keep(_ receiver: AnyObject) {
    let receiver = Transferred(receiver)
    state.withLock { $0.receiver = receiver.value }
  }

  /// Returns the present answers and marks the changes as applied. An answer that arrives after this call is
  /// late.
  package func take() -> [Answer] {
    // The receiver is released outside the lock.
    let taken = state.withLock { state in
      defer { state.receiver = nil }
      state.isApplied = true
      return Transferred((answers: state.answers, receiver: state.receiver))
    }
    return taken.value.answers
  }

  /// Returns the object of a late answer; nil if the answer left the document out.
  package func lateElement(_ index: Int) -> T? {
    state.withLock { Transferred($0.answers[index]) }.value.element
  }
}

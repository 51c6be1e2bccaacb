// The changes of one snapshot, on their way into the documents of a data source.
//
//   - Each change waits for its object, unless it is a removal. Answers come on any thread, each once.
//   - The changes are ready when no object is missing, and overdue when the time for that is up.
//   - Once they were applied, answers are late, and are told one by one.
//   - Changes of a read keep their receiver until they are applied. The receiver has them until then, so this is a cycle
//     of references. It ends with the last answer, or when the time is up.

private import FirebaseCore

/// What a snapshot says of one document.
package struct PendingChange: Sendable {
  package enum Kind: Sendable {
    case added
    case modified
    case removed
    /// Modified in the database, and perhaps new to us.
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
  }

  private struct State: @unchecked Sendable {
    // Unchecked, because objects are not sendable: each is handed over by its answer, and taken once.
    var answers: [Answer]
    var waiting: Int
    var isOverdue = false
    var isApplied = false
    /// Receiver of a read, until its changes are applied.
    var receiver: AnyObject?
  }

  package let source: QuerySnapshot?
  package let changes: [Change]
  /// Whether a listener told them, rather than somebody who asked once.
  package let isLive: Bool
  private let state: Guarded<State>

  package init(_ source: QuerySnapshot?, _ changes: [Change], isLive: Bool = false) {
    self.source = source
    self.changes = changes
    self.isLive = isLive
    state = Guarded(
      State(answers: Array(repeating: .waiting, count: changes.count), waiting: changes.count))
  }

  /// Whether it is time to look at the changes again. Only the first answer counts.
  @discardableResult
  package func answer(_ index: Int, _ element: T?) -> Bool {
    let answer = Handed(element.map(Answer.element) ?? .nothing)
    return state.withLock { state in
      guard case .waiting = state.answers[index] else { return false }
      state.answers[index] = answer.value
      state.waiting -= 1
      return state.waiting == 0 || state.isApplied
    }
  }

  /// All of them at once.
  package func answer(_ elements: [T?]) {
    let answers = Handed(elements.map { $0.map(Answer.element) ?? .nothing })
    state.withLock { state in
      state.answers = answers.value
      state.waiting = 0
    }
  }

  /// False if everything is there.
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

  /// Keeps the receiver until the changes are taken.
  package func keep(_ receiver: AnyObject) {
    let receiver = Handed(receiver)
    state.withLock { $0.receiver = receiver.value }
  }

  /// What there is; from now on, answers are late.
  package func take() -> [Answer] {
    // The receiver is released outside of the lock.
    let taken = state.withLock { state in
      defer { state.receiver = nil }
      state.isApplied = true
      return Handed((answers: state.answers, receiver: state.receiver))
    }
    return taken.value.answers
  }

  /// One that came late; nil if nothing came.
  package func lateElement(_ index: Int) -> T? {
    let answer = state.withLock { Handed($0.answers[index]) }.value
    if case .element(let element) = answer { return element }
    return nil
  }
}

/// What happens to changes on their way.
package enum ChangeEvent<T>: Sendable {
  case answered(PendingChanges<T>, Int)
  case timeIsUp(PendingChanges<T>)
  /// Changes that others waited for were dropped.
  case unblocked
}

// The messages about one target since the last event.

internal import DocumentStore

struct TargetMessages {
  enum DocumentChange { case added, modified, removed }

  /// The number of requests that the remote has not answered. Until it answers them, messages about the
  /// target refer to an earlier watch of the target.
  private(set) var pendingResponses = 0
  private(set) var documents: [DocumentPath: DocumentChange] = [:]
  private var resumeToken: [UInt8] = []
  private(set) var isCurrent = false
  /// Whether an event has contained the complete target, so that the views of the target are complete as
  /// well.
  private(set) var isDelivered = false
  private(set) var hasChanges = true
  /// Documents of the target that were refused and not sent again within the limits. While there are any,
  /// the target is not current, and its resume token does not advance.
  private(set) var refused: Set<DocumentPath> = []
  private var refusals: [RemoteRefusal.Subject: RemoteRefusal] = [:]
  /// The subjects of refusals that listeners have not received, in the order of the refusals.
  private var undeliveredSubjects: [RemoteRefusal.Subject] = []
  private var deliveredSubjects: [RemoteRefusal.Subject] = []

  var isPending: Bool { pendingResponses != 0 }

  mutating func noteRequest() { pendingResponses += 1 }

  mutating func noteResponse() { pendingResponses -= 1 }

  mutating func take(_ token: [UInt8]) {
    guard !token.isEmpty else { return }
    hasChanges = true
    resumeToken = token
  }

  mutating func markCurrent() {
    hasChanges = true
    isCurrent = true
  }

  /// Whether the remote has sent the whole target and none of it is refused.
  var isComplete: Bool { isCurrent && refused.isEmpty }

  mutating func noteEvent() { if isComplete { isDelivered = true } }

  /// Records a change; nil cancels an earlier one.
  mutating func note(_ change: DocumentChange?, of path: DocumentPath) {
    hasChanges = true
    documents[path] = change
  }

  mutating func clearChanges() {
    hasChanges = false
    documents = [:]
  }

  /// Drops everything that belongs to an earlier watch of the target: the remote sends the target anew.
  mutating func startOver() {
    clearChanges()
    isCurrent = false
    isDelivered = false
    refused = []
    refusals = [:]
    undeliveredSubjects = []
    deliveredSubjects = []
  }

  // MARK: Refusals

  /// Records a refusal. Listeners receive each refusal once.
  mutating func note(_ refusal: RemoteRefusal) {
    if case .document(let path) = refusal.subject, refused.insert(path).inserted { hasChanges = true }
    guard refusals.updateValue(refusal, forKey: refusal.subject) == nil else { return }
    undeliveredSubjects.append(refusal.subject)
  }

  /// Ends the refusal of a document that was sent again or has left the target.
  mutating func endRefusal(of path: DocumentPath) {
    guard refused.remove(path) != nil else { return }
    hasChanges = true
    refusals[.document(path)] = nil
    deliveredSubjects.removeAll { $0 == .document(path) }
    undeliveredSubjects.removeAll { $0 == .document(path) }
  }

  mutating func takeRefusals() -> [RemoteRefusal] {
    defer {
      deliveredSubjects += undeliveredSubjects
      undeliveredSubjects = []
    }
    return undeliveredSubjects.compactMap { refusals[$0] }
  }

  /// The current refusals that listeners have received.
  var refusalsInForce: [RemoteRefusal] {
    var seen: Set<RemoteRefusal.Subject> = []
    return deliveredSubjects.compactMap { seen.insert($0).inserted ? refusals[$0] : nil }
  }

  var change: TargetChange {
    var change = TargetChange(resumeToken: refused.isEmpty ? resumeToken : [], isCurrent: isComplete)
    for (path, kind) in documents {
      switch kind {
      case .added: change.added.insert(path)
      case .modified: change.modified.insert(path)
      case .removed: change.removed.insert(path)
      }
    }
    return change
  }
}

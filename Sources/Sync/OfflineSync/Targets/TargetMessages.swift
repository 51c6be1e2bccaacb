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
  /// The subjects of refusals that listeners have not received, in the order of the refusals. Some of these
  /// refusals may have ended.
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
  }

  mutating func takeRefusals() -> [RemoteRefusal] {
    var subjects: Set<RemoteRefusal.Subject> = []
    let new = undeliveredSubjects.filter { refusals[$0] != nil && subjects.insert($0).inserted }
    undeliveredSubjects = []
    if !new.isEmpty {
      // Refusals that have ended stay in the list until there is a new one.
      deliveredSubjects.removeAll { refusals[$0] == nil || subjects.contains($0) }
      deliveredSubjects += new
    }
    return new.compactMap { refusals[$0] }
  }

  /// The current refusals that listeners have received.
  var refusalsInForce: [RemoteRefusal] {
    deliveredSubjects.compactMap { refusals[$0] }
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

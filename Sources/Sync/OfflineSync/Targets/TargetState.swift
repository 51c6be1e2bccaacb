// What the watch stream has said of one target since the last event.

internal import DocumentStore

struct TargetState {
  enum DocumentChange { case added, modified, removed }

  /// Requests that the remote has not answered. Until then, what it says is about a target of old.
  private(set) var pendingResponses = 0
  private(set) var documents: [DocumentPath: DocumentChange] = [:]
  private var resumeToken: [UInt8] = []
  private(set) var isCurrent = false
  /// All of it was in an event, and with that in its views.
  private(set) var isTold = false
  private(set) var hasChanges = true
  /// Documents of the target that were refused, and not told again within the limits. Until then the target is not
  /// current, and is resumed before them.
  private(set) var refused: Set<DocumentPath> = []
  private var refusals: [RemoteRefusal.Subject: RemoteRefusal] = [:]
  /// Subjects in the order in which they came. Some are settled by now.
  private var untold: [RemoteRefusal.Subject] = []
  private var told: [RemoteRefusal.Subject] = []

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

  /// True once the remote has told the whole target and nothing of it stands refused.
  var isComplete: Bool { isCurrent && refused.isEmpty }

  mutating func noteEvent() { if isComplete { isTold = true } }

  /// Nil for none after all.
  mutating func note(_ change: DocumentChange?, of path: DocumentPath) {
    hasChanges = true
    documents[path] = change
  }

  mutating func clearChanges() {
    hasChanges = false
    documents = [:]
  }

  // MARK: Refusals

  /// Records a refusal. Listeners are told each one once.
  mutating func note(_ refusal: RemoteRefusal) {
    if case .document(let path) = refusal.subject, refused.insert(path).inserted { hasChanges = true }
    guard refusals.updateValue(refusal, forKey: refusal.subject) == nil else { return }
    untold.append(refusal.subject)
  }

  /// Removes the refusal of a document that came again or has left the target.
  mutating func settleRefusal(of path: DocumentPath) {
    guard refused.remove(path) != nil else { return }
    hasChanges = true
    refusals[.document(path)] = nil
  }

  /// Drops all refusals, since the target starts anew.
  mutating func forgetRefusals() {
    refused = []
    refusals = [:]
  }

  mutating func takeRefusals() -> [RemoteRefusal] {
    defer {
      told += untold
      untold = []
    }
    return untold.compactMap { refusals[$0] }
  }

  /// Refusals that listeners have been told, without the settled ones.
  var toldRefusals: [RemoteRefusal] {
    var seen: Set<RemoteRefusal.Subject> = []
    return told.compactMap { seen.insert($0).inserted ? refusals[$0] : nil }
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

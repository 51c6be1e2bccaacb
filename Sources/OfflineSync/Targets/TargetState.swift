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

  mutating func noteEvent() { if isCurrent { isTold = true } }

  /// Nil for none after all.
  mutating func note(_ change: DocumentChange?, of path: DocumentPath) {
    hasChanges = true
    documents[path] = change
  }

  mutating func clearChanges() {
    hasChanges = false
    documents = [:]
  }

  var change: TargetChange {
    var change = TargetChange(resumeToken: resumeToken, isCurrent: isCurrent)
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

// The server side of one watch stream: its targets, and the state of each target that was last sent to the
// client.
//
// A target with a resume token (LoopbackResumeToken.swift) receives the changes since that token. These do
// not suffice for a query with a limit: a document that enters the result need not have changed. The whole
// result is therefore sent again. That also happens if the token belongs to another store or to a position
// that the feed no longer keeps. The session sends an existence filter if changes were sent or the client's
// document count is not the expected one.

internal import DocumentStore
internal import OfflineSync

final class LoopbackSession {
  private struct Target {
    let query: StructuredQuery
    /// The documents in the target, as last sent to the client.
    var keys: Set<DocumentPath>

    var hasLimit: Bool { query.limit != nil }
  }

  let number: Int
  private let server: LoopbackServer
  private let user: String?
  private let send: (WatchChange, SnapshotVersion) -> Void
  private var targets: [TargetID: Target] = [:]
  private var changed: [DocumentPath: RemoteDocument] = [:]
  private var sentPosition: FeedPosition
  private var isFullySent = true

  init(
    _ number: Int, _ server: LoopbackServer, as user: String?,
    _ send: @escaping (WatchChange, SnapshotVersion) -> Void
  ) {
    self.number = number
    self.server = server
    self.user = user
    self.send = send
    sentPosition = server.position
  }

  private var token: [UInt8] { server.mark.token }

  // MARK: Requests

  func watch(_ request: WatchTarget) throws(DocumentStoreError) {
    try server.catchUp()
    if let refusal = server.rules.mayRead?(user, request.query) {
      return send(.target(.removed, [request.id], cause: refusal), .none)
    }
    var target = Target(query: request.query, keys: [])
    send(.target(.added, [request.id]), .none)
    let answer = try server.store.documents(request.query)
    target.keys = Set(answer.map(\.path))
    let isResumed = target.hasLimit ? false : try resume(request, target.keys)
    if !isResumed {
      // The documents that the client has from a token or a bundle may be outdated.
      let hasPriorState = !request.resumeToken.isEmpty || request.readTime != .none
      if hasPriorState { send(.target(.reset, [request.id]), .none) }
      for document in answer {
        send(.document(document.path, RemoteDocument(document), updated: [request.id], removed: []), .none)
      }
    }
    targets[request.id] = target
    send(.target(.current, [request.id], resumeToken: token), .none)
    send(.target(.noChange, [], resumeToken: token), server.version)
    sentPosition = server.position
  }

  /// Resumes a target by sending the changes since its token. Returns false if these changes are not known.
  private func resume(
    _ request: WatchTarget, _ keys: Set<DocumentPath>
  ) throws(DocumentStoreError) -> Bool {
    guard let mark = LoopbackResumeToken(request.resumeToken) else { return false }
    var position = mark.position
    var changed: [DocumentPath: RemoteDocument] = [:]
    do throws(DocumentStoreError) {
      guard try server.hasPassed(mark) else { return false }
      while position < server.position {
        let (commits, end) = try server.store.feedChanges(after: position, max: 500)
        for commit in commits {
          for change in commit.changes where request.query.scope.contains(change.path) {
            changed[change.path] = try server.document(of: change, at: commit.time)
          }
        }
        guard end > position else { break }
        position = end
      }
    } catch {
      guard case .feedTruncated = error else { throw error }
      return false
    }
    let inOrder = changed.values.sorted {
      $0.version != $1.version ? $0.version < $1.version : ValueOrder.compare($0.path, $1.path) == .before
    }
    for document in inOrder {
      let isIn = keys.contains(document.path)
      send(
        .document(
          document.path, document, updated: isIn ? [request.id] : [], removed: isIn ? [] : [request.id]),
        .none)
    }
    if let expected = request.expectedCount, expected != keys.count || !changed.isEmpty {
      sendFilter(request.id, keys)
    }
    return true
  }

  private func sendFilter(_ id: TargetID, _ keys: Set<DocumentPath>) {
    var filter = BloomFilter(count: keys.count)
    for path in keys { filter.insert("\(LoopbackRemote.name)/\(path)") }
    send(.existenceFilter(id, count: keys.count, keys.isEmpty ? nil : filter.asParts), .none)
  }

  func unwatch(_ id: TargetID) {
    targets[id] = nil
    send(.target(.removed, [id]), .none)
  }

  // MARK: Changes

  func note(_ document: RemoteDocument) {
    guard targets.values.contains(where: { $0.query.scope.contains(document.path) }) else { return }
    changed[document.path] = document
  }

  /// Marks all targets for a full resend, because some changes are unknown.
  func resendAll() { isFullySent = false }

  /// Sends the recorded changes, and then the version up to which they are complete.
  func flush() throws(DocumentStoreError) {
    if !isFullySent {
      isFullySent = true
      for id in targets.keys.sorted() { try resend(id) }
      // The version is sent after all targets, because it applies to all of them.
      if !targets.isEmpty { send(.target(.noChange, [], resumeToken: token), server.version) }
    }
    guard sentPosition < server.position else { return }
    sentPosition = server.position
    guard !targets.isEmpty else { return }
    var deliveries: [DocumentPath: (updated: [TargetID], removed: [TargetID])] = [:]
    var others: [DocumentPath: RemoteDocument] = [:]
    for id in targets.keys.sorted() { try compare(id, &deliveries, others: &others) }
    for (path, recipients) in deliveries.sorted(by: { ValueOrder.compare($0.key, $1.key) == .before }) {
      let document = changed[path] ?? others[path]
      send(.document(path, document, updated: recipients.updated, removed: recipients.removed), .none)
    }
    changed = [:]
    send(.target(.noChange, [], resumeToken: token), server.version)
  }

  private func compare(
    _ id: TargetID, _ deliveries: inout [DocumentPath: (updated: [TargetID], removed: [TargetID])],
    others: inout [DocumentPath: RemoteDocument]
  ) throws(DocumentStoreError) {
    guard let target = targets[id] else { return }
    let relevant = changed.values.filter { target.query.scope.contains($0.path) }
    guard !relevant.isEmpty else { return }
    var keys = target.keys
    if target.hasLimit {
      // If a document left the result, an unchanged document may take its place within the limit.
      let answer = try server.store.documents(target.query)
      keys = Set(answer.map(\.path))
      for document in answer where !target.keys.contains(document.path) {
        others[document.path] = RemoteDocument(document)
        deliveries[document.path, default: ([], [])].updated.append(id)
      }
      for path in target.keys.subtracting(keys) { deliveries[path, default: ([], [])].removed.append(id) }
      for document in relevant where keys.contains(document.path) && target.keys.contains(document.path) {
        deliveries[document.path, default: ([], [])].updated.append(id)
      }
    } else {
      for document in relevant {
        if let stored = document.synced.stored, target.query.matches(stored) {
          keys.insert(document.path)
          deliveries[document.path, default: ([], [])].updated.append(id)
        } else if keys.remove(document.path) != nil {
          deliveries[document.path, default: ([], [])].removed.append(id)
        }
      }
    }
    targets[id]?.keys = keys
  }

  private func resend(_ id: TargetID) throws(DocumentStoreError) {
    guard let target = targets[id] else { return }
    let answer = try server.store.documents(target.query)
    send(.target(.reset, [id]), .none)
    for document in answer {
      send(.document(document.path, RemoteDocument(document), updated: [id], removed: []), .none)
    }
    targets[id]?.keys = Set(answer.map(\.path))
    send(.target(.current, [id], resumeToken: token), .none)
  }
}

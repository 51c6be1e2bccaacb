// The messages with which a client is sent a whole target, or what it lacks of it.

internal import DocumentStore
internal import OfflineSync

struct TargetAnswer {
  let target: WatchedTarget
  let present: [StoredDocument]
  let context: Resumption.Context
  let documentsName: String
  /// The token with which the client resumes from here.
  let token: [UInt8]

  /// No filter has more names, so none has more than 2.5 MB. A client that gets none, and has another number
  /// of documents, asks for the whole target.
  private static let filterNamesMax = 500_000

  /// Calls `send` with each message, from the one that adds the target to the one that makes it current.
  func forEachMessage(_ send: (WatchChange) -> Void) {
    let ids = [target.id]
    send(.target(.added, ids))
    if let resumption = Resumption(of: target, present, in: context) {
      for (path, document, isIn) in resumption.documents {
        send(.document(path, document, updated: isIn ? ids : [], removed: isIn ? [] : ids))
      }
      switch resumption.filter {
      case .none: break
      case .count: send(.existenceFilter(target.id, count: present.count, nil))
      case .names: send(existenceFilter)
      }
    } else {
      sendAll(send)
    }
    send(.target(.current, ids, resumeToken: token))
  }

  private func sendAll(_ send: (WatchChange) -> Void) {
    let ids = [target.id]
    if target.hasPriorState { send(.target(.reset, ids)) }
    for document in present {
      send(.document(document.path, RemoteDocument(document), updated: ids, removed: []))
    }
    let absent = Set(target.paths).subtracting(present.map(\.path))
    for path in target.paths where absent.contains(path) {
      let document = RemoteDocument(path, nil, version: context.version)
      send(.document(path, document, updated: [], removed: ids))
    }
  }

  private var existenceFilter: WatchChange {
    guard (1...Self.filterNamesMax).contains(present.count) else {
      return .existenceFilter(target.id, count: present.count, nil)
    }
    // A single false positive makes the client ask for the whole target.
    var filter = BloomFilter(count: present.count, others: departedCount)
    for document in present { filter.insert("\(documentsName)/\(document.path)") }
    return .existenceFilter(target.id, count: present.count, filter.asParts)
  }

  /// The number of documents that the client has too many, if it has the state of its token.
  private var departedCount: Int {
    guard let expected = target.request.expectedCount, let mark = target.mark else { return 0 }
    let added = present.count { SnapshotVersion($0.createTime) > mark.time }
    return max(0, min(expected, Int(Int32.max)) + added - present.count)
  }
}

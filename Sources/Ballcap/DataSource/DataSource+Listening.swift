// Live documents.

import FirebaseFirestore

extension DataSource {
  /// Listens to the documents behind those that were read, or to all if none were. Does nothing if it listens already.
  @discardableResult
  public func listen() -> Self {
    guard listener == nil, loop == nil else { return self }
    listener = current.listen { [weak self] snapshot, error in self?.hear(snapshot, error) }
    return self
  }

  /// Ends the listening, until the next `listen`.
  public func stop() {
    listener?.remove()
    listener = nil
  }

  private func hear(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
    if let snapshot { return hear(snapshot) }
    listener = nil
    if let error { report(error, nil) }
  }

  func hear(_ snapshot: QuerySnapshot) {
    if !snapshot.metadata.hasPendingWrites, !snapshot.isEmpty { advance(behind: snapshot) }
    let changes = snapshot.documentChanges(includeMetadataChanges: true)
    receive(snapshot, changes.compactMap(pendingChange))
  }

  /// From here on, `next` and `listen` begin behind the last document of the snapshot.
  func advance(behind snapshot: QuerySnapshot) {
    lastDocument = snapshot.lastDocument
    hasMore = query.query.limitCount.map { snapshot.count >= $0 } ?? false
  }

  /// As far as the query can tell what the source shows: a predicate is asked here.
  private func pendingChange(_ change: DocumentChange) -> Pending.Change? {
    let document = change.document
    guard query.hasPredicates else {
      return Pending.Change(kind: PendingChanges.Change.Kind(change.type), document: document)
    }
    switch (change.type, query.accepts(document)) {
    case (.added, true): return Pending.Change(kind: .added, document: document)
    case (.added, false): return nil
    case (.modified, true): return Pending.Change(kind: .modifiedOrAdded, document: document)
    case (.modified, false), (.removed, _): return Pending.Change(kind: .removed, document: document)
    }
  }
}

extension PendingChanges.Change.Kind {
  fileprivate init(_ type: DocumentChangeType) {
    self =
      switch type {
      case .added: .added
      case .modified: .modified
      case .removed: .removed
      }
  }
}

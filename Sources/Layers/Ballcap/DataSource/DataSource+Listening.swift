// Live documents.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// Listens to the documents behind those that were read, or to all if none were. Does nothing if it listens already.
  @discardableResult
  public func listen() -> Self {
    guard listener == nil, loop == nil else { return self }
    listening = Listening(start: lastDocument)
    listener = current.query.addSnapshotListener(includeMetadataChanges: true) {
      [weak self] snapshot, error in
      self?.hear(snapshot, error)
    }
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
    listening?.heard = snapshot
    if let replaced = listening?.replaced {
      listening?.replaced = nil
      forget(replaced)
      return receive(snapshot, snapshot.documentChanges.compactMap(renewal), isLive: true)
    }
    let news = news(of: snapshot)
    if isBlank, news.allSatisfy({ $0.type == .added }) {
      return fill(snapshot, news.map { $0.document }.filter(query.accepts))
    }
    receive(snapshot, news.compactMap(pendingChange), isLive: true)
  }

  /// From here on, `next` and `listen` begin behind the last document of the snapshot.
  func advance(behind snapshot: QuerySnapshot) {
    // The next page begins a little earlier where a time that a remote has still to set is in no order yet.
    lastDocument = snapshot.lastStart ?? lastDocument
    hasMore = query.query.limitCount.map { snapshot.count >= $0 } ?? false
  }

  /// The changes that count. Of documents whose metadata alone have changed, elements get their new snapshots all the
  /// same.
  private func news(of snapshot: QuerySnapshot) -> [DocumentChange] {
    let all = snapshot.documentChanges(includeMetadataChanges: true)
    guard option.skipsMetadataChanges else { return all }
    let changes = snapshot.documentChanges
    guard changes.count < all.count else { return all }
    let counted = Set(changes.map(ObjectIdentifier.init))
    list.needTree()
    for change in all where !counted.contains(ObjectIdentifier(change)) {
      let reference = change.document.reference
      guard let element = list.element(reference), element.documentReference == reference else { continue }
      element.snapshot = change.document
    }
    return changes
  }

  /// Drops the documents of an earlier listening, silently. Pages that are being read stay.
  private func forget(_ snapshot: QuerySnapshot) {
    list.needTree()
    for document in snapshot.documents { list.remove(document.reference) }
    arriving.removeLive()
  }

  /// As far as the query can tell what the source shows: a predicate is asked here.
  private func pendingChange(_ change: DocumentChange) -> Pending.Change? {
    let document = change.document
    guard query.hasPredicates else {
      return Pending.Change(kind: PendingChange.Kind(change.type), document: document)
    }
    switch (change.type, query.accepts(document)) {
    case (.added, true): return Pending.Change(kind: .added, document: document)
    case (.added, false): return nil
    case (.modified, true): return Pending.Change(kind: .modifiedOrAdded, document: document)
    case (.modified, false), (.removed, _): return Pending.Change(kind: .removed, document: document)
    }
  }

  /// Of a document that a page may have brought already.
  private func renewal(_ change: DocumentChange) -> Pending.Change? {
    guard query.accepts(change.document) else { return nil }
    return Pending.Change(kind: .modifiedOrAdded, document: change.document)
  }
}

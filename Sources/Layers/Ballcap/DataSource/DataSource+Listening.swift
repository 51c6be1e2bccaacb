// Listens to the documents of a data source.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// Listens to the documents after those that were read, or to all documents if none were read. Does nothing
  /// if the source already listens.
  @discardableResult
  public func listen() -> Self {
    guard listener == nil, loop == nil else { return self }
    listening = Listening(start: lastDocument)
    listener = current.query.addSnapshotListener(includeMetadataChanges: true) {
      [weak self] snapshot, error in
      self?.handleSnapshot(snapshot, error)
    }
    return self
  }

  /// Stops listening until the next call of `listen`.
  public func stop() {
    listener?.remove()
    listener = nil
  }

  private func handleSnapshot(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
    if let snapshot { return handleSnapshot(snapshot) }
    listener = nil
    if let error { report(error, nil) }
  }

  func handleSnapshot(_ snapshot: QuerySnapshot) {
    if !snapshot.metadata.hasPendingWrites, !snapshot.isEmpty { advance(after: snapshot) }
    listening?.received = snapshot
    if let replaced = listening?.replaced {
      listening?.replaced = nil
      forget(replaced)
      return receive(snapshot, snapshot.documentChanges.compactMap(renewal), isLive: true)
    }
    let news = news(of: snapshot)
    if canFillDirectly, news.allSatisfy({ $0.type == .added }) {
      return fill(snapshot, news.map { $0.document }.filter(query.accepts))
    }
    receive(snapshot, news.compactMap(pendingChange), isLive: true)
  }

  /// Makes `next` and `listen` start after the last document of the snapshot.
  func advance(after snapshot: QuerySnapshot) {
    // A document with a pending server timestamp has no place in the order yet. If the last document is of
    // this kind, the next page starts after an earlier document.
    lastDocument = snapshot.lastStart ?? lastDocument
    hasMore = query.query.limitCount.map { snapshot.count >= $0 } ?? false
  }

  /// Returns the changes to apply. If the option skips metadata changes, such changes are not returned.
  /// Instead, the elements that have only metadata changes get their new snapshots here.
  private func news(of snapshot: QuerySnapshot) -> [DocumentChange] {
    let all = snapshot.documentChanges(includeMetadataChanges: true)
    guard option.skipsMetadataChanges else { return all }
    let changes = snapshot.documentChanges
    guard changes.count < all.count else { return all }
    let counted = Set(changes.map(ObjectIdentifier.init))
    list.buildRowsIfNeeded()
    for change in all where !counted.contains(ObjectIdentifier(change)) {
      let reference = change.document.reference
      guard let element = list.element(reference), element.documentReference == reference else { continue }
      element.snapshot = change.document
    }
    return changes
  }

  /// Removes the documents of an earlier listener from the list, without reporting the removals. Pages that
  /// are being read are kept.
  private func forget(_ snapshot: QuerySnapshot) {
    list.buildRowsIfNeeded()
    for document in snapshot.documents { list.remove(document.reference) }
    arriving.removeLive()
  }

  /// Returns the change to the list that follows from a change to the query's results, after evaluating the
  /// predicates.
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

  /// Returns the change to the list for a document that a page may have listed already.
  private func renewal(_ change: DocumentChange) -> Pending.Change? {
    guard query.accepts(change.document) else { return nil }
    return Pending.Change(kind: .modifiedOrAdded, document: change.document)
  }
}

// Receives snapshots and pages, and creates the objects of their documents.

import FirebaseFirestore
import LayerKit

extension DataSource {
  // MARK: Live

  /// Starts to listen to the query. A second call replaces the listener.
  @discardableResult
  public func listen() -> Self {
    stop()
    hasReportedFirst = false
    firstChanges = nil
    listener = query.listen(includeMetadataChanges: options.includeMetadataChanges) { [weak self] in
      self?.receiveSnapshot($0, $1)
    }
    return self
  }

  /// Removes the listener. After this call, no block is called for the listener, not even for the remaining
  /// changes of a snapshot that is being reported. Pending page reads are still reported.
  public func stop() {
    listener?.remove()
    listener = nil
    stopCount += 1
    arriving.removeLive()
    // The dropped changes may have blocked a page.
    if !arriving.isEmpty { post(.unblocked) }
  }

  private func receiveSnapshot(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
    guard let snapshot else {
      listener = nil
      if let error { report(error, nil) }
      return
    }
    if lastDocument == nil, !snapshot.metadata.hasPendingWrites,
      let last = snapshot.lastDocument(where: { _ in true })
    {
      (lastDocument, readAfterCursor) = (last, [])
    }
    guard hasReportedFirst || firstChanges != nil else { return receiveFirstSnapshot(snapshot) }
    let changes = snapshot.documentChanges(includeMetadataChanges: options.includeMetadataChanges)
    for change in changes {
      if change.type == .removed {
        reportedIDs.remove(ExactKey(change.document.documentID))
      } else {
        reportedIDs.insert(ExactKey(change.document.documentID))
      }
    }
    receive(
      snapshot,
      changes.filter { options.listeningChangeTypes.contains($0.type) }.map {
        PendingChange(kind: .init($0.type), document: $0.document)
      }, isLive: true)
  }

  private func receiveFirstSnapshot(_ snapshot: QuerySnapshot) {
    // Documents that an earlier listener reported may have been deleted since.
    let now = Set(snapshot.documents.map { ExactKey($0.documentID) })
    for id in reportedIDs.subtracting(now) { _ = rows.remove(id.text) }
    reportedIDs = now
    guard !snapshot.isEmpty else {
      let stop = stopCount
      changeBlock?(snapshot, .initial)
      if stop == stopCount { complete(snapshot) }
      return
    }
    receive(
      snapshot, snapshot.documents.map { PendingChange(kind: .added, document: $0) }, isLive: true,
      isFirst: true)
  }

  // MARK: Pages

  /// Reads the first page, or the next page. The read keeps the data source alive until the page is reported.
  @discardableResult
  public func get() -> Self { next() }

  /// Reads the page after the last document that was read. `block` receives whether the page is empty. The
  /// read keeps the data source alive until the page is reported, or for `options.timeout` seconds.
  ///
  /// An error is first reported to the other blocks. Then `block` receives true, as in the original library,
  /// and `isLast` does not change.
  @discardableResult
  public func next(_ block: ((Bool) -> Void)? = nil) -> Self {
    let known = readAfterCursor
    page(beside: known).get { [self] snapshot, error in
      guard let snapshot else {
        if let error { report(error, nil) }
        block?(true)
        return
      }
      advance(after: snapshot)
      let documents = snapshot.documents.filter { !known.contains($0.reference) }
      isLast = documents.isEmpty
      block?(isLast)
      receive(snapshot, documents.map { PendingChange(kind: .added, document: $0) })
    }
    return self
  }

  /// Returns the query of the next page. A document with a pending server timestamp has no position in the
  /// order, so it cannot be a cursor. If the last document that was read is such a document, the page starts
  /// after an earlier document. The limit of the page is then increased by the number of documents that were
  /// read after that earlier document.
  private func page(beside known: Set<DocumentReference>) -> Query {
    let page = lastDocument.map { query.start(afterDocument: $0) } ?? query
    return known.isEmpty ? page : page.refined { $0.widened(by: known.count) }
  }

  private func advance(after snapshot: QuerySnapshot) {
    let documents = snapshot.documents
    guard let last = snapshot.query.lastStart(in: documents) else {
      return readAfterCursor.formUnion(documents.map(\.reference))
    }
    lastDocument = documents[last]
    readAfterCursor = Set(documents[(last + 1)...].map(\.reference))
  }

  // MARK: Objects

  /// Creates the objects of the changes. Applies the changes once all earlier changes have been applied.
  private func receive(
    _ source: QuerySnapshot, _ changes: [PendingChange], isLive: Bool = false, isFirst: Bool = false
  ) {
    let arrived = PendingChanges<T>(source, changes, isLive: isLive)
    if isFirst { firstChanges = arrived }
    receive(arrived, timeout: options.timeout, post: post) { change, done in
      if query.accepts(change.document) {
        make(change, source, isLive: isLive, done: done)
      } else {
        done(nil)
      }
    }
  }

  /// A closure that any thread may call to post an event.
  private var post: @Sendable (ChangeEvent<T>) -> Void { events(on: query.query.firestore.callbackQueue) }

  /// Creates the object of a change. After `stop`, the object of a live change is dropped.
  private func make(
    _ change: PendingChange, _ source: QuerySnapshot, isLive: Bool, done: @escaping (T?) -> Void
  ) {
    let stop = stopCount
    query.object(of: change.document) { [self] object, error in
      if isLive, stop != stopCount { return done(nil) }
      guard let object else {
        if let error { report(error, source) }
        return done(nil)
      }
      guard let parseBlock else { return done(object) }
      parseBlock(source, object) { done($0) }
    }
  }
}

// MARK: One document

extension DataSource {
  /// Deletes the files of the object and then its document. The list changes when the listener reports the
  /// deletion.
  public func removeDocument(at index: Int, block: ((String, (any Error)?) -> Void)? = nil) {
    let document = rows.elements[index]
    let id = document.id
    document.delete { error in block?(id, error) }
  }

  /// Calls `block` with the object at once, and with a new object after each change of its document.
  public func observeObject(
    at index: Int, block: @escaping (Element?, (any Error)?) -> Void
  ) -> Disposer<Element> {
    let document = rows.elements[index]
    block(document, nil)
    let known = (document as? Object)?.snapshot?.version
    var isFirst = true
    return Disposer(
      .value(
        document.reference.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
          defer { isFirst = false }
          // The first snapshot may have the same version as the object that `block` has already received.
          if isFirst, let known, snapshot?.version == known { return }
          block(snapshot.flatMap { T(snapshot: $0) }, error)
        }))
  }
}

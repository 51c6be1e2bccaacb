// Changes become objects in the list, and are told.

private import FirebaseCore
package import FirebaseFirestore

extension DataSource: ChangeReceiver {
  /// Ends where a block that is told a change stops the listening.
  package func apply(_ changes: PendingChanges<T>) {
    let before = batchBlock == nil ? [] : rows.elements
    let isFirst = changes === firstChanges
    let stop = stops
    var isOver: Bool { changes.isLive && stop != stops }
    var applied = Applied()
    for (change, answer) in zip(changes.changes, changes.take()) {
      if isOver { return }
      let id = change.document.documentID
      switch answer {
      case .waiting: late[ExactKey(id)] = changes
      case .nothing:
        late[ExactKey(id)] = nil
        let isOut = change.kind == .removed || !query.accepts(change.document)
        if isOut { remove(id, changes, &applied, isFirst) }
      case .element(let element):
        late[ExactKey(id)] = nil
        put(element, change, changes, &applied, isFirst)
      }
    }
    if isOver { return }
    if isFirst {
      hasFirst = true
      firstChanges = nil
      changeBlock?(changes.source, .initial)
    }
    if !isOver { tell(changes.source, before, applied) }
    if !isOver { complete(changes.source) }
  }

  /// Applies an object that came when the other changes were applied already, unless its document changed again.
  package func applyLate(_ changes: PendingChanges<T>, _ index: Int) {
    let change = changes.changes[index]
    guard late[ExactKey(change.document.documentID)] === changes else { return }
    late[ExactKey(change.document.documentID)] = nil
    guard let element = changes.lateElement(index) else { return }
    let before = batchBlock == nil ? [] : rows.elements
    let stop = stops
    var isOver: Bool { changes.isLive && stop != stops }
    var applied = Applied()
    put(element, change, changes, &applied, false)
    if !isOver { tell(changes.source, before, applied) }
    if !isOver { complete(changes.source) }
  }

  package func reportTimeout(_ source: QuerySnapshot?) { report(DataSourceError(kind: .timeout), source) }

  /// The ids of what was done.
  private struct Applied {
    var deletions: [String] = []
    var insertions: [String] = []
    var modifications: [String] = []
  }

  private func put(
    _ element: T, _ change: PendingChange, _ changes: PendingChanges<T>, _ applied: inout Applied,
    _ isFirst: Bool
  ) {
    let id = change.document.documentID
    guard options.accepts(element) else { return remove(id, changes, &applied, isFirst) }
    let key = query.query.hasExplicitOrder || !query.hasRealities ? query.query.sortKey(change.document) : nil
    if let (_, index) = rows.replace(id, with: element, key) {
      applied.modifications.append(id)
      if !isFirst { changeBlock?(changes.source, .update(([], [], [index]))) }
    } else {
      let index = rows.insert(element, id, key)
      applied.insertions.append(id)
      if !isFirst { changeBlock?(changes.source, .update(([], [index], []))) }
    }
  }

  private func remove(
    _ id: String, _ changes: PendingChanges<T>, _ applied: inout Applied, _ isFirst: Bool
  ) {
    guard let index = rows.remove(id) else { return }
    applied.deletions.append(id)
    if !isFirst { changeBlock?(changes.source, .update(([index], [], []))) }
  }

  // MARK: Telling

  private func tell(_ source: QuerySnapshot?, _ before: [T], _ applied: Applied) {
    guard let batchBlock else { return }
    let places = Dictionary(
      before.enumerated().map { (ExactKey($1.id), $0) }, uniquingKeysWith: { first, _ in first })
    batchBlock(
      source,
      BatchedChange(
        before: before, after: rows.elements,
        deletions: applied.deletions.compactMap { places[ExactKey($0)] }.sorted(),
        insertions: applied.insertions.compactMap(rows.index).sorted(),
        modifications: applied.modifications.compactMap(rows.index).sorted()))
  }

  func complete(_ source: QuerySnapshot?) {
    for block in completedBlocks { block(source, rows.elements) }
  }
}

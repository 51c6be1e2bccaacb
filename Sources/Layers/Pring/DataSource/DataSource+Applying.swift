// Applies changes to the list and reports them.

package import FirebaseFirestore
package import LayerKit

extension DataSource: ChangeReceiver {
  /// Applies the changes. Stops as soon as a block that receives a change ends the listening.
  package func apply(_ changes: PendingChanges<T>) {
    var step = Step(changes, self)
    for (change, answer) in zip(changes.changes, changes.take()) {
      if isOver(step) { return }
      if case .waiting = answer {
        arriving.addLate(change.reference, changes)
        continue
      }
      arriving.removeLate(change.reference)
      if case .element(let element) = answer {
        put(element, change, in: &step)
      } else if change.kind == .removed || !query.accepts(change.document) {
        remove(change.document.documentID, in: &step)
      }
    }
    if isOver(step) { return }
    if step.isFirst {
      hasReportedFirst = true
      firstChanges = nil
      changeBlock?(changes.source, .initial)
    }
    report(step)
  }

  package func applyLate(_ change: PendingChange, _ element: T, of changes: PendingChanges<T>) {
    var step = Step(changes, self)
    step.isFirst = false
    put(element, change, in: &step)
    report(step)
  }

  package func reportTimeout(_ source: QuerySnapshot?) { report(DataSourceError(kind: .timeout), source) }

  /// The changes of one snapshot or page, and the ids of the rows that they changed.
  private struct Step {
    let changes: PendingChanges<T>
    /// The list before the changes; nil if no block needs it.
    let before: Rows<T>?
    /// Whether the changes contain the first objects, which are reported together as `.initial`.
    var isFirst: Bool
    let stopCount: Int
    var deletions: [String] = []
    var insertions: [String] = []
    var modifications: [String] = []

    init(_ changes: PendingChanges<T>, _ source: DataSource<T>) {
      self.changes = changes
      before = source.batchBlock == nil ? nil : source.rows
      isFirst = changes === source.firstChanges
      stopCount = source.stopCount
    }
  }

  private func isOver(_ step: Step) -> Bool { step.changes.isLive && step.stopCount != stopCount }

  private func put(_ element: T, _ change: PendingChange, in step: inout Step) {
    let id = change.document.documentID
    guard options.accepts(element) else { return remove(id, in: &step) }
    let key = query.query.hasExplicitOrder || !query.hasRealities ? query.query.sortKey(change.document) : nil
    if let (_, index) = rows.replace(id, with: element, key: key) {
      step.modifications.append(id)
      report(([], [], [index]), in: step)
    } else {
      step.insertions.append(id)
      report(([], [rows.insert(element, id, key: key)], []), in: step)
    }
  }

  private func remove(_ id: String, in step: inout Step) {
    guard let index = rows.remove(id) else { return }
    step.deletions.append(id)
    report(([index], [], []), in: step)
  }

  // MARK: Reporting

  private func report(_ change: Change, in step: Step) {
    if !step.isFirst { changeBlock?(step.changes.source, .update(change)) }
  }

  private func report(_ step: Step) {
    if !isOver(step), let batchBlock {
      batchBlock(
        step.changes.source,
        BatchedChange(
          before: step.before?.elements ?? [], after: rows.elements,
          deletions: step.deletions.compactMap { step.before?.index(of: $0) }.sorted(),
          insertions: step.insertions.compactMap { rows.index(of: $0) }.sorted(),
          modifications: step.modifications.compactMap { rows.index(of: $0) }.sorted()))
    }
    if !isOver(step) { complete(step.changes.source) }
  }

  func complete(_ source: QuerySnapshot?) {
    for block in completedBlocks { block(source, rows.elements) }
  }
}

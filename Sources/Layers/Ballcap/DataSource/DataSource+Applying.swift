// Applies changes to the list, and reports them.

package import FirebaseFirestore
public import LayerKit

/// A change with its object.
private struct Step {
  let kind: PendingChange.Kind
  let reference: DocumentReference
  /// The object and its document. Nil for a removal, or if the document cannot be decoded.
  let document: ListedDocument?

  init(_ change: PendingChange, _ element: Object?) {
    kind = change.kind
    reference = change.reference
    document = element.map { ListedDocument($0, found: change.document) }
  }

  init(_ kind: PendingChange.Kind, _ document: Object, at reference: DocumentReference) {
    self.kind = kind
    self.reference = reference
    self.document = ListedDocument(document, at: reference)
  }
}

extension DataSource: ChangeReceiver {
  /// Decodes the objects of the changes now and applies the changes.
  func apply(_ source: QuerySnapshot?, _ changes: [Pending.Change]) {
    var steps: [Step] = []
    steps.reserveCapacity(changes.count)
    for change in changes { steps.append(Step(change, decoded(change, of: source))) }
    notify(source, apply(steps), isNews: !changes.isEmpty)
  }

  package func apply(_ changes: PendingChanges<T>) {
    var steps: [Step] = []
    for (change, answer) in zip(changes.changes, changes.take()) {
      switch answer {
      case .waiting: arriving.addLate(change.reference, changes)
      case .nothing where change.kind != .removed: arriving.removeLate(change.reference)
      case .nothing: steps.append(Step(change, nil))
      case .element(let element): steps.append(Step(change, element))
      }
    }
    notify(changes.source, apply(steps), isNews: !changes.changes.isEmpty)
  }

  package func applyLate(_ change: PendingChange, _ element: T, of changes: PendingChanges<T>) {
    var change = change
    change.kind = .modifiedOrAdded
    notify(changes.source, apply([Step(change, element)]), isNews: true)
  }

  package func reportTimeout(_ source: QuerySnapshot?) { report(DataSourceError.timeout, source) }

  // MARK: The first documents

  /// Whether the list is empty and no changes are waiting, so that the next documents can fill it directly.
  var canFillDirectly: Bool {
    retrieveBlock == nil && list.count == 0 && arriving.isEmpty && !arriving.hasLateObjects
  }

  /// Fills the empty list with documents in the order of the query, without duplicates.
  func fill(_ source: QuerySnapshot?, _ documents: [QueryDocumentSnapshot]) {
    let (elements, found) = T.objects(of: documents) { report($0, source) }
    // A block that received an error may have changed the list.
    guard canFillDirectly else {
      let steps = zip(found, elements).map { Step(PendingChange(kind: .added, document: $0), $1) }
      return notify(source, apply(steps), isNews: true)
    }
    list.fill(elements, found)
    guard hasObservers else {
      hasNotified = true
      return
    }
    let all = Snapshot(([], list.elements, []), SnapshotContent(list, .elements([]), changedIndices: .allNew))
    notify(source, all, isNews: !documents.isEmpty)
  }

  // MARK: Changes

  private func apply(_ steps: [Step]) -> Snapshot {
    list.buildRowsIfNeeded()
    let hadDuplicateReferences = list.hasDuplicateReferences
    var source: SnapshotContent<T>.Before?
    var sorted: [DocumentReference] = []
    if !list.isOrdered {
      source = .elements(list.elements)
      sorted = list.sort()
    }
    let duplicates = hadDuplicateReferences ? list.elements : []
    _ = list.takeEdits()
    var plan = Plan()
    for step in steps { plan.add(step, list, isLate: arriving.removeLate(step.reference)) }
    let change = list.update(removing: plan.deletions, setting: plan.modifications + plan.insertions)
    let snapshot = snapshot(change, plan, from: source, sorted: sorted)
    guard hadDuplicateReferences else { return snapshot }
    if case .elements(let before)? = source { return snapshotComparing(before) }
    return snapshotComparing(duplicates)
  }

  private func snapshotComparing(_ before: [T]) -> Snapshot {
    let (changes, indices) = SnapshotContent.comparing(before, list.elements)
    return Snapshot(changes, SnapshotContent(list, .elements(before), changedIndices: .known(indices)))
  }

  /// The edits of a snapshot: insertions of new documents, and modifications and removals of listed
  /// documents. Other changes are dropped.
  private struct Plan {
    var deletions: [DocumentReference] = []
    var insertions: [ListedDocument] = []
    var modifications: [ListedDocument] = []

    mutating func add(_ step: Step, _ list: DocumentList<T>, isLate: Bool) {
      let isKnown = list.contains(step.reference)
      switch (step.kind, step.document) {
      case (.removed, _):
        if isKnown { deletions.append(step.reference) }
      case (.added, let document?):
        if !isKnown { insertions.append(document) }
      case (.modified, let document?), (.modifiedOrAdded, let document?):
        if isKnown {
          modifications.append(document)
        } else if isLate || step.kind == .modifiedOrAdded {
          insertions.append(document)
        }
      case (_, nil): break
      }
    }
  }

  /// Returns the snapshot of a change. `source` is the list before it was sorted, and `sorted` has the
  /// documents that moved when it was sorted.
  private func snapshot(
    _ change: DocumentListChange, _ plan: Plan, from source: SnapshotContent<T>.Before?,
    sorted: [DocumentReference]
  ) -> Snapshot {
    // If the list has just been sorted, the rows of the change are not the rows before the snapshot.
    let hasOldRows = source == nil
    var changed = SnapshotContent<T>.Changed(
      deletions: change.removals.map { (hasOldRows ? $0.row : nil, $0.element.element as! T) },
      insertions: change.insertions,
      modifications: change.replacements.map {
        (hasOldRows ? $0.row : nil, $0.element.element as! T, $0.key)
      })
    var modified = plan.modifications.map { $0.element as! T }
    // A document that moved because it was changed in place or inserted by hand counts as modified.
    let moved = sorted + change.placedAgain
    if !moved.isEmpty {
      let planned = Set((plan.modifications + plan.insertions).map { $0.reference })
      for reference in Set(moved).subtracting(planned) {
        guard let element = list.element(reference) else { continue }
        modified.append(element)
        changed.modifications.append((nil, element, reference))
      }
    }
    let changes: Changes = (
      changed.deletions.map { $0.element }, plan.insertions.map { $0.element as! T }, modified
    )
    return Snapshot(
      changes, SnapshotContent(list, source ?? .edits(list.takeEdits()), changedIndices: .few(changed)))
  }

  // MARK: Notifying

  private func notify(_ source: QuerySnapshot?, _ snapshot: Snapshot, isNews: Bool) {
    defer { hasNotified = true }
    if option.skipsMetadataChanges, hasNotified, !isNews { return }
    loop?.snapshots.append(snapshot)
    changedBlock?(source, snapshot)
    for observer in observers.values { observer(source, snapshot) }
  }

  private var hasObservers: Bool { changedBlock != nil || loop != nil || !observers.isEmpty }

  /// A snapshot without changes.
  var unchanged: Snapshot {
    Snapshot(([], [], []), SnapshotContent(list, .edits([]), changedIndices: .unchanged))
  }

  // MARK: By hand

  /// Inserts a document that is not listed yet, in order, and calls `onChanged` at once.
  public func add(document: Element) {
    guard list.reference(of: document) == nil else { return }
    notify(nil, apply([Step(.added, document, at: document.documentReference)]), isNews: true)
  }

  /// Removes the document with the same id, and calls `onChanged` at once.
  public func remove(document: Element) {
    guard let reference = list.reference(of: document) else { return }
    notify(nil, apply([Step(.removed, document, at: reference)]), isNews: true)
  }
}

// Changes become documents, and are told.

import FirebaseFirestore

extension DataSource {
  /// A change whose object is there.
  private struct Step {
    let kind: Pending.Change.Kind
    let reference: DocumentReference
    let element: T?
  }

  func apply(_ changes: Pending) {
    var steps: [Step] = []
    for (change, answer) in zip(changes.changes, changes.take()) {
      switch answer {
      case .waiting: late[change.reference] = changes
      case .nothing where change.kind != .removed: late[change.reference] = nil
      case .nothing: steps.append(Step(kind: change.kind, reference: change.reference, element: nil))
      case .element(let element):
        steps.append(Step(kind: change.kind, reference: change.reference, element: element))
      }
    }
    tell(changes.source, apply(steps), isNews: !changes.changes.isEmpty)
  }

  /// Applies an object that came when the other changes were applied already, unless its document changed again.
  func applyLate(_ changes: Pending, _ index: Int) {
    let reference = changes.changes[index].reference
    guard late[reference] === changes else { return }
    guard let element = changes.lateElement(index) else {
      late[reference] = nil
      return
    }
    let step = Step(kind: .modifiedOrAdded, reference: reference, element: element)
    tell(changes.source, apply([step]), isNews: true)
  }

  private func apply(_ steps: [Step]) -> Snapshot {
    if list.count == 0, steps.allSatisfy({ $0.kind == .added }), !steps.isEmpty { return fill(steps) }
    var source: SnapshotContent<T>.Before?
    if !list.isOrdered {
      source = .elements(list.elements)
      list.sort()
    }
    list.needTree()
    _ = list.takeEdits()
    var plan = Plan()
    for step in steps { plan.add(step, list, isLate: late.removeValue(forKey: step.reference) != nil) }
    // Where things were is looked up before anything moves, and is another place if all was sorted just now.
    plan.lookUp(list, knowsPlaces: source == nil)
    return carryOut(plan, source)
  }

  /// The first documents of all, in the order of the query.
  private func fill(_ steps: [Step]) -> Snapshot {
    var seen = Set<DocumentReference>()
    let new = steps.compactMap { step in
      seen.insert(step.reference).inserted ? step.element.map { (step.reference, $0) } : nil
    }
    for step in steps { late[step.reference] = nil }
    list.fill(new.map { (reference: $0.0, element: $0.1) })
    let places = SnapshotContent<T>.Places(insertions: new.map(\.0))
    return Snapshot(([], new.map(\.1), []), SnapshotContent(list, .elements([]), places))
  }

  /// What is to be done: additions of what is new, modifications and removals of what is there. Nothing else counts.
  private struct Plan {
    var deletions: [DocumentReference] = []
    var insertions: [(reference: DocumentReference, element: T)] = []
    var modifications: [(reference: DocumentReference, element: T)] = []
    var places = SnapshotContent<T>.Places()

    mutating func add(_ step: Step, _ list: DocumentList<T>, isLate: Bool) {
      let isKnown = list.contains(step.reference)
      switch (step.kind, step.element) {
      case (.removed, _):
        if isKnown { deletions.append(step.reference) }
      case (.added, let element?):
        if !isKnown { insertions.append((step.reference, element)) }
      case (.modified, let element?), (.modifiedOrAdded, let element?):
        if isKnown {
          modifications.append((step.reference, element))
        } else if isLate || step.kind == .modifiedOrAdded {
          insertions.append((step.reference, element))
        }
      case (_, nil): break
      }
    }

    mutating func lookUp(_ list: DocumentList<T>, knowsPlaces: Bool) {
      for reference in deletions {
        guard let element = list.element(reference) else { continue }
        places.deletions.append((knowsPlaces ? list.index(of: reference) : nil, element))
      }
      for (reference, _) in modifications {
        guard let element = list.element(reference) else { continue }
        places.modifications.append((knowsPlaces ? list.index(of: reference) : nil, element, reference))
      }
      places.insertions = insertions.map(\.reference)
    }
  }

  private func carryOut(_ plan: Plan, _ source: SnapshotContent<T>.Before?) -> Snapshot {
    var moved: [DocumentReference] = []
    for reference in plan.deletions { list.remove(reference) }
    for (reference, element) in plan.modifications { moved += list.replace(reference, with: element) }
    for (reference, element) in plan.insertions { moved += list.insert(element, as: reference) }
    // What else has moved, because it was changed in place, is a modification too.
    var places = plan.places
    var modified = plan.modifications.map(\.element)
    let planned = Set((plan.modifications + plan.insertions).map(\.reference))
    for reference in Set(moved).subtracting(planned) {
      guard let element = list.element(reference) else { continue }
      modified.append(element)
      places.modifications.append((nil, element, reference))
    }
    let changes: Changes = (places.deletions.map(\.element), plan.insertions.map(\.element), modified)
    return Snapshot(changes, SnapshotContent(list, source ?? .edits(list.takeEdits()), places))
  }

  // MARK: Telling

  private func tell(_ source: QuerySnapshot?, _ snapshot: Snapshot, isNews: Bool) {
    defer { hasTold = true }
    if option.skipsMetadataChanges, hasTold, !isNews { return }
    loop?.made.append(snapshot)
    changedBlock?(source, snapshot)
  }

  /// A step in which nothing happens.
  var unchanged: Snapshot {
    Snapshot(([], [], []), SnapshotContent(list, .edits([])))
  }

  // MARK: By hand

  /// Adds a document that is not there yet, in order, and tells `onChanged` at once.
  public func add(document: Element) {
    list.needTree()
    guard list.reference(of: document) == nil else { return }
    let step = Step(kind: .added, reference: document.documentReference, element: document)
    tell(nil, apply([step]), isNews: true)
  }

  /// Removes the document with the same id, and tells `onChanged` at once.
  public func remove(document: Element) {
    list.needTree()
    guard let reference = list.reference(of: document) else { return }
    tell(nil, apply([Step(kind: .removed, reference: reference, element: nil)]), isNews: true)
  }
}

// From a snapshot of the database to changes that can be applied.

private import FirebaseCore
import FirebaseFirestore
private import Foundation

extension DataSource {
  typealias Pending = PendingChanges<T>

  /// Makes the objects of the changes, and applies them when it is their turn.
  func receive(_ source: QuerySnapshot?, _ changes: [Pending.Change]) {
    guard let retrieveBlock else {
      if pending.isEmpty { return apply(source, changes) { decoded($0, of: source) } }
      let arrived = Pending(source, changes)
      pending.append(arrived)
      return arrived.answer(changes.map { decoded($0, of: source) })
    }
    let arrived = Pending(source, changes)
    pending.append(arrived)
    retrieve(arrived, retrieveBlock)
    applyPending()
    guard arrived.isWaiting else { return }
    let post = post
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(option.timeout)) {
      post(.timeIsUp(arrived))
    }
  }

  private func decoded(_ change: Pending.Change, of source: QuerySnapshot?) -> T? {
    guard change.kind != .removed else { return nil }
    do {
      return try T(snapshot: change.document)
    } catch {
      report(error, source)
      return nil
    }
  }

  private func retrieve(_ arrived: Pending, _ block: RetrieveBlock) {
    let post = post
    for (index, change) in arrived.changes.enumerated() {
      guard change.kind != .removed else {
        arrived.answer(index, nil)
        continue
      }
      block(arrived.source, change.document) { element in
        if arrived.answer(index, element) { post(.answered(arrived, index)) }
      }
    }
  }

  /// Any thread may call it: the event is handled where all of this source is.
  private var post: @Sendable (ChangeEvent<T>) -> Void {
    if let loop { return loop.post }
    let queue = query.query.firestore.callbackQueue
    let source = WeakSource(source: self)
    return { event in queue.async { source.source?.handle(event) } }
  }

  func handle(_ event: ChangeEvent<T>) {
    switch event {
    case .answered(let changes, let index):
      if changes.isApplied { applyLate(changes, index) } else { applyPending() }
    case .timeIsUp(let changes):
      guard changes.expire() else { return }
      report(DataSourceError.timeout, changes.source)
      applyPending()
    }
  }

  private func applyPending() {
    while let first = pending.first, first.canBeApplied {
      pending.removeFirst()
      apply(first)
    }
  }
}

private struct WeakSource<T: Object & DataRepresentable>: @unchecked Sendable {
  // Unchecked, because it is only asked on the callback queue.
  weak var source: DataSource<T>?
}

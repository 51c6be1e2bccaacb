// From a snapshot of the database to changes that can be applied.

import FirebaseFirestore

extension DataSource {
  typealias Pending = PendingChanges<T>

  /// Makes the objects of the changes, and applies them when it is their turn.
  func receive(_ source: QuerySnapshot?, _ changes: [Pending.Change], isLive: Bool = false) {
    guard let retrieveBlock else {
      if arriving.isEmpty { return apply(source, changes) }
      let arrived = Pending(source, changes, isLive: isLive)
      enqueue(arrived)
      arrived.answer(changes.map { decoded($0, of: source) })
      return applyArriving()
    }
    let arrived = Pending(source, changes, isLive: isLive)
    enqueue(arrived)
    let post = post
    retrieve(arrived, retrieveBlock, post)
    applyArriving()
    arrived.expireLater(option.timeout, post)
  }

  func decoded(_ change: Pending.Change, of source: QuerySnapshot?) -> T? {
    guard change.kind != .removed else { return nil }
    do {
      return try T.object(of: change.document)
    } catch {
      report(error, source)
      return nil
    }
  }

  private func retrieve(
    _ arrived: Pending, _ block: RetrieveBlock, _ post: @escaping @Sendable (ChangeEvent<T>) -> Void
  ) {
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

  /// Any thread may call it. The event is handled in the task of the loop, or else on the callback queue.
  private var post: @Sendable (ChangeEvent<T>) -> Void {
    let (route, toQueue) = (route, toQueue)
    return { route.post($0, otherwise: toQueue) }
  }

  /// The way of events while no loop runs.
  var toQueue: @Sendable (ChangeEvent<T>) -> Void { events(on: query.query.firestore.callbackQueue) }
}

// Creates the objects of changes, so that the changes can be applied.

import FirebaseFirestore
import LayerKit

extension DataSource {
  typealias Pending = PendingChanges<T>

  /// Creates the objects of the changes. Applies the changes once all earlier changes have been applied.
  func receive(_ source: QuerySnapshot?, _ changes: [Pending.Change], isLive: Bool = false) {
    if retrieveBlock == nil, arriving.isEmpty { return apply(source, changes) }
    let arrived = Pending(source, changes, isLive: isLive)
    if let retrieveBlock {
      return receive(arrived, timeout: option.timeout, post: post) { change, done in
        retrieveBlock(source, change.document, done)
      }
    }
    enqueue(arrived)
    arrived.answer(changes.map { decoded($0, of: source) })
    applyArriving()
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

  /// A closure that posts an event from any thread. The event is handled in the task of the loop. If no loop
  /// runs, the event is handled on the callback queue.
  private var post: @Sendable (ChangeEvent<T>) -> Void {
    let (route, toQueue) = (route, toQueue)
    return { route.post($0, otherwise: toQueue) }
  }

  /// A closure that passes events to the callback queue, where they are handled while no loop runs.
  var toQueue: @Sendable (ChangeEvent<T>) -> Void { events(on: query.query.firestore.callbackQueue) }
}

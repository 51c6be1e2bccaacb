// Data sources of the layers above: snapshots on their way, each in its turn.

private import FirebaseCore
private import Foundation

/// Who takes the changes of snapshots and applies them.
///
///   1. snapshots wait in `arriving`, in the order in which they came, for their objects
///   2. answers and the end of the time are events, which come from any thread and are handled where the receiver is
///   3. a snapshot is applied when all before it are, and its own objects are there or its time is up
///   4. a snapshot of a read keeps the receiver until it is applied. One of a listener does not
package protocol ChangeReceiver<Element>: AnyObject, SendableMetatype {
  associatedtype Element

  var arriving: [PendingChanges<Element>] { get set }
  func apply(_ changes: PendingChanges<Element>)
  /// The object of one change came when the others were applied already.
  func applyLate(_ changes: PendingChanges<Element>, _ index: Int)
  /// Objects of this snapshot took too long.
  func reportTimeout(_ source: QuerySnapshot?)
}

extension ChangeReceiver {
  /// Puts changes behind those that wait. Changes of a read keep the receiver until they are applied, so that a read
  /// is answered if nothing else keeps it.
  package func enqueue(_ changes: PendingChanges<Element>) {
    if !changes.isLive { changes.keep(self) }
    arriving.append(changes)
  }

  /// Applies all whose turn it is.
  package func applyArriving() {
    while let next = arriving.first, next.canBeApplied {
      arriving.removeFirst()
      apply(next)
    }
  }

  package func handle(_ event: ChangeEvent<Element>) {
    switch event {
    case .answered(let changes, let index):
      if changes.isApplied { applyLate(changes, index) } else { applyArriving() }
    case .timeIsUp(let changes):
      guard changes.expire() else { return }
      reportTimeout(changes.source)
      applyArriving()
    case .unblocked: applyArriving()
    }
  }

  /// Takes events on any thread, and has them handled on `queue` as long as the receiver is there. Changes of a read
  /// that are not applied yet keep it.
  package func events(on queue: DispatchQueue) -> @Sendable (ChangeEvent<Element>) -> Void {
    let receiver = WeakReceiver(receiver: self)
    return { event in queue.async { receiver.receiver?.handle(event) } }
  }
}

extension PendingChanges {
  /// Says when the time for the missing objects is up, if there are any.
  package func expireLater(
    _ seconds: Int, _ post: @escaping @Sendable (ChangeEvent<T>) -> Void
  ) {
    guard isWaiting else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { post(.timeIsUp(self)) }
  }
}

private struct WeakReceiver<Receiver: ChangeReceiver>: @unchecked Sendable {
  // Unchecked, because it is only asked on the queue of the receiver.
  weak var receiver: Receiver?
}

// The steps by which the changes of a snapshot enter the list of a data source.
//
//   1. `receive` appends the changes of a snapshot to the queue and creates their objects. Creating an object
//      may take time.
//   2. Arriving objects and timeouts are events. Any thread posts them, and the receiver handles them on its
//      own queue.
//   3. The receiver applies the changes of the snapshots in arrival order. The changes of a snapshot are
//      applied when all their objects exist or their timeout has passed.
//   4. An object that arrives after its changes were applied is late. It is applied alone, unless its
//      document has changed again.
//   5. Changes of a one-time read keep the receiver alive until they are applied. Changes of a listener do
//      not.

package import FirebaseFirestore
private import Foundation

/// The changes of one receiver that wait for their objects.
package struct ChangeQueue<Element> {
  /// Changes that are not applied yet, in arrival order.
  fileprivate var waiting: [PendingChanges<Element>] = []
  /// The documents whose objects are late. Each document has the changes that its object belongs to.
  private var late: [DocumentReference: PendingChanges<Element>] = [:]

  package init() {}

  /// Whether all changes were applied. Objects may still be late.
  package var isEmpty: Bool { waiting.isEmpty }

  package var hasLateObjects: Bool { !late.isEmpty }

  /// Drops the changes of listeners. Changes of one-time reads stay.
  package mutating func removeLive() {
    waiting.removeAll(where: \.isLive)
    late = late.filter { !$0.value.isLive }
  }

  package mutating func addLate(_ reference: DocumentReference, _ changes: PendingChanges<Element>) {
    late[reference] = changes
  }

  /// Stops waiting for the object of a document. Returns whether that object was late.
  @discardableResult
  package mutating func removeLate(_ reference: DocumentReference) -> Bool {
    late.removeValue(forKey: reference) != nil
  }

  fileprivate func isLate(_ reference: DocumentReference, in changes: PendingChanges<Element>) -> Bool {
    late[reference] === changes
  }
}

/// An event of pending changes.
package enum ChangeEvent<T>: Sendable {
  case answered(PendingChanges<T>, Int)
  case timeIsUp(PendingChanges<T>)
  /// Changes that blocked other changes were dropped.
  case unblocked
}

/// A data source that applies the changes of snapshots.
package protocol ChangeReceiver<Element>: AnyObject, SendableMetatype {
  associatedtype Element

  var arriving: ChangeQueue<Element> { get set }
  func apply(_ changes: PendingChanges<Element>)
  /// Applies one change whose object was late.
  func applyLate(_ change: PendingChange, _ element: Element, of changes: PendingChanges<Element>)
  /// Reports that some objects of this snapshot did not arrive in time.
  func reportTimeout(_ source: QuerySnapshot?)
}

extension ChangeReceiver {
  /// Enqueues changes and applies all ready changes. `make` creates the object of each change that is not a
  /// removal. `make` calls its closure once, on any thread; with nil, the document is left out.
  package func receive(
    _ changes: PendingChanges<Element>, timeout seconds: Int,
    post: @escaping @Sendable (ChangeEvent<Element>) -> Void,
    make: (PendingChange, @escaping (Element?) -> Void) -> Void
  ) {
    enqueue(changes)
    for (index, change) in changes.changes.enumerated() {
      guard change.kind != .removed else {
        changes.answer(index, nil)
        continue
      }
      make(change) { element in
        if changes.answer(index, element) { post(.answered(changes, index)) }
      }
    }
    applyArriving()
    guard changes.isWaiting else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { post(.timeIsUp(changes)) }
  }

  /// Appends changes to the queue. Changes of a one-time read keep the receiver alive until they are applied.
  package func enqueue(_ changes: PendingChanges<Element>) {
    if !changes.isLive { changes.keep(self) }
    arriving.waiting.append(changes)
  }

  /// Applies changes from the front of the queue while they are ready.
  package func applyArriving() {
    while let next = arriving.waiting.first, next.canBeApplied {
      arriving.waiting.removeFirst()
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

  private func applyLate(_ changes: PendingChanges<Element>, _ index: Int) {
    let change = changes.changes[index]
    guard arriving.isLate(change.reference, in: changes) else { return }
    arriving.removeLate(change.reference)
    if let element = changes.lateElement(index) { applyLate(change, element, of: changes) }
  }

  /// Returns a closure that any thread may call with an event. The event is handled on `queue`, if the
  /// receiver still exists.
  package func events(on queue: DispatchQueue) -> @Sendable (ChangeEvent<Element>) -> Void {
    let receiver = WeakReceiver(receiver: self)
    return { event in queue.async { receiver.receiver?.handle(event) } }
  }
}

private struct WeakReceiver<Receiver: ChangeReceiver>: @unchecked Sendable {
  // Unchecked, because the reference is only read on the queue of the receiver.
  weak var receiver: Receiver?
}

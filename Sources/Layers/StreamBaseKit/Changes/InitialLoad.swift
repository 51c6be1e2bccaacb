// The end of a stream's initial load, which is reported once to each delegate.

import Foundation

struct InitialLoad {
  private var isOver = false
  private var error: NSError?
  private weak var notifiedDelegate: (any StreamBaseDelegate)?

  init(isOver: Bool = false) { self.isOver = isOver }

  var isFinished: Bool { isOver }

  /// Records the end of the load. Only the first call has an effect.
  mutating func finish(_ error: NSError?) {
    guard !isOver else { return }
    isOver = true
    self.error = error
  }

  /// Returns the result of the load if the delegate has not received it yet; otherwise nil.
  mutating func pendingNotice(for delegate: (any StreamBaseDelegate)?) -> LoadNotice? {
    guard isOver, let delegate, delegate !== notifiedDelegate else { return nil }
    notifiedDelegate = delegate
    return LoadNotice(delegate: delegate, error: error)
  }

  struct LoadNotice {
    let delegate: any StreamBaseDelegate
    let error: NSError?

    func notify() { delegate.streamDidFinishInitialLoad(error) }
  }
}

// The end of a stream's initial load, which each delegate is told once.

import Foundation

struct InitialLoad {
  private var isOver = false
  private var error: NSError?
  private weak var told: (any StreamBaseDelegate)?

  init(isOver: Bool = false) { self.isOver = isOver }

  var isFinished: Bool { isOver }

  /// The first outcome stays.
  mutating func finish(_ error: NSError?) {
    guard !isOver else { return }
    isOver = true
    self.error = error
  }

  /// What the delegate is still to be told; nil for nothing.
  mutating func news(for delegate: (any StreamBaseDelegate)?) -> News? {
    guard isOver, let delegate, delegate !== told else { return nil }
    told = delegate
    return News(delegate: delegate, error: error)
  }

  struct News {
    let delegate: any StreamBaseDelegate
    let error: NSError?

    func tell() { delegate.streamDidFinishInitialLoad(error) }
  }
}

// A delegate that writes down what it hears.

public import Foundation

/// Collects what a stream tells, for tests and for programs without a user interface.
///
/// The stream does not keep it: whoever makes it has to.
open class StreamChangeRecorder: StreamBaseDelegate {
  /// What was told at once.
  public enum Change: Equatable {
    /// Items came and went.
    case batch(deleted: [IndexPath], added: [IndexPath])
    /// Items have other content.
    case changed([IndexPath])
    /// The first answer is there, with an error if there is none.
    case initialLoad(NSError?)
    /// Listening failed.
    case failed(NSError)
  }

  /// What was told, in order.
  public private(set) var changes: [Change] = []
  private var deleted: [IndexPath] = []
  private var added: [IndexPath] = []

  /// Nothing was told yet.
  public init() {}

  /// What came since it was last taken.
  open func take() -> [Change] {
    defer { changes = [] }
    return changes
  }

  open func streamWillChange() { (deleted, added) = ([], []) }

  open func streamItemsDeleted(_ paths: [IndexPath]) { deleted += paths }

  open func streamItemsAdded(_ paths: [IndexPath]) { added += paths }

  open func streamDidChange() { changes.append(.batch(deleted: deleted, added: added)) }

  open func streamItemsChanged(_ paths: [IndexPath]) { changes.append(.changed(paths)) }

  open func streamDidFinishInitialLoad(_ error: NSError?) { changes.append(.initialLoad(error)) }

  open func streamDidFail(_ error: NSError) { changes.append(.failed(error)) }
}

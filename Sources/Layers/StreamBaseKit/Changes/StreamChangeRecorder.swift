// A delegate that records the changes of a stream.

public import Foundation

/// Records the changes of a stream, for tests and for programs without a user interface.
///
/// The stream does not retain the recorder, so its creator must.
open class StreamChangeRecorder: StreamBaseDelegate {
  /// One reported change.
  public enum Change: Equatable {
    /// Items were deleted and added.
    case batch(deleted: [IndexPath], added: [IndexPath])
    /// Items have new content.
    case changed([IndexPath])
    /// The initial load has ended, with an error if it failed.
    case initialLoad(NSError?)
    /// Listening failed.
    case failed(NSError)
  }

  /// The recorded changes, in order.
  public private(set) var changes: [Change] = []
  private var deleted: [IndexPath] = []
  private var added: [IndexPath] = []

  /// Creates an empty recorder.
  public init() {}

  /// Removes and returns the recorded changes.
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

// The protocols of streams and of their delegates.

public import Foundation

/// Receives the changes of a stream, on the callback queue. All methods have an empty default.
///
/// A batch starts with `streamWillChange` and ends with `streamDidChange`. Between them, the deleted rows are
/// reported first, counted before the batch, and then the added rows, counted after it. During all calls the
/// stream has its new state. Changes of items that do not move are reported separately.
///
/// Streams reference their delegates weakly, so the creator of a delegate must keep it.
public protocol StreamBaseDelegate: AnyObject {
  /// A batch starts.
  func streamWillChange()
  /// The batch has ended.
  func streamDidChange()
  /// Items were added at these paths.
  func streamItemsAdded(_ paths: [IndexPath])
  /// The items at these paths were deleted.
  func streamItemsDeleted(_ paths: [IndexPath])
  /// The items at these paths have changed content.
  func streamItemsChanged(_ paths: [IndexPath])
  /// Called once, when the initial items were read or could not be read.
  func streamDidFinishInitialLoad(_ error: NSError?)
  /// A later read has failed.
  func streamDidFail(_ error: NSError)
}

extension StreamBaseDelegate {
  public func streamWillChange() {}
  public func streamDidChange() {}
  public func streamItemsAdded(_ paths: [IndexPath]) {}
  public func streamItemsDeleted(_ paths: [IndexPath]) {}
  public func streamItemsChanged(_ paths: [IndexPath]) {}
  public func streamDidFinishInitialLoad(_ error: NSError?) {}
  public func streamDidFail(_ error: NSError) {}
}

/// A stream of items in sections and rows.
public protocol StreamBaseProtocol: AnyObject {
  /// The receiver of changes.
  var delegate: (any StreamBaseDelegate)? { get set }
  /// Returns the item with this key; nil if there is none.
  func find(_ key: String) -> BaseItem?
  /// Returns the path of the item with this key; nil if there is none.
  func findIndexPath(_ key: String) -> IndexPath?
}

extension StreamBaseDelegate {
  /// Reports one whole batch.
  func hear(deleted: [IndexPath], added: [IndexPath]) {
    guard !deleted.isEmpty || !added.isEmpty else { return }
    streamWillChange()
    if !deleted.isEmpty { streamItemsDeleted(deleted) }
    if !added.isEmpty { streamItemsAdded(added) }
    streamDidChange()
  }
}

// MARK: Index paths

#if !canImport(UIKit) && !canImport(AppKit)
extension IndexPath {
  /// Traps unless the path has two indexes.
  public var section: Int { self[0] }

  /// The row.
  public var item: Int { self[1] }

  /// Creates a path to a row in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
}
#endif

#if !canImport(UIKit)
extension IndexPath {
  /// Traps unless the path has two indexes.
  public var row: Int { self[1] }

  /// Creates a path to a row in a section.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
}
#endif

extension IndexPath {
  static func paths(_ rows: [Int], section: Int = 0) -> [IndexPath] {
    rows.map { IndexPath(row: $0, section: section) }
  }
}

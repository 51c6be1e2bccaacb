// The protocols of streams and of their delegates.

public import Foundation

/// A delegate that receives the changes of a stream, on the callback queue. All methods have an empty default
/// implementation.
///
/// A batch starts with `streamWillChange` and ends with `streamDidChange`. Between them, the deleted rows are
/// reported first, with their positions before the batch. The added rows follow, with their positions after
/// the batch. During all these calls, the stream already has its new items. Content changes of items that do
/// not move are reported separately.
///
/// Streams reference their delegates weakly, so the creator of a delegate must retain it.
public protocol StreamBaseDelegate: AnyObject {
  /// A batch starts.
  func streamWillChange()
  /// Called when a batch has ended.
  func streamDidChange()
  /// Called when items were added at these paths.
  func streamItemsAdded(_ paths: [IndexPath])
  /// Called when the items at these paths were deleted.
  func streamItemsDeleted(_ paths: [IndexPath])
  /// Called when the content of the items at these paths has changed.
  func streamItemsChanged(_ paths: [IndexPath])
  /// Called once, when the initial items were read or when the read failed.
  func streamDidFinishInitialLoad(_ error: NSError?)
  /// Called when a read after the initial load has failed.
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
  /// The object that receives the changes of the stream.
  var delegate: (any StreamBaseDelegate)? { get set }
  /// Returns the item with this key; nil if there is none.
  func find(_ key: String) -> BaseItem?
  /// Returns the path of the item with this key; nil if there is none.
  func findIndexPath(_ key: String) -> IndexPath?
}

extension StreamBaseDelegate {
  /// Reports the deleted and added rows of one batch.
  func notify(deleted: [IndexPath], added: [IndexPath]) {
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
  /// The section, which is the first index. Traps unless the path has two indexes.
  public var section: Int { self[0] }

  /// The row.
  public var item: Int { self[1] }

  /// Creates a path to an item in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
}
#endif

#if !canImport(UIKit)
extension IndexPath {
  /// The row, which is the second index. Traps unless the path has two indexes.
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

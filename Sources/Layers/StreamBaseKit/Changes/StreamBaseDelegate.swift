// What a stream tells, and what every stream can be asked.

public import Foundation

/// Hears of the changes of a stream, on the callback queue. All methods have an empty default.
///
/// A batch comes as `streamWillChange`, the rows that go, as they were counted before the batch, the rows that come, as
/// they are counted after it, and `streamDidChange`. During all of it the stream has its new state. Changes of items
/// that stay where they are come by themselves.
///
/// Streams hold their delegates weakly: whoever makes one has to keep it.
public protocol StreamBaseDelegate: AnyObject {
  /// Changes come.
  func streamWillChange()
  /// Changes have come.
  func streamDidChange()
  /// There are items at these places that were not there.
  func streamItemsAdded(_ paths: [IndexPath])
  /// The items that were at these places are gone.
  func streamItemsDeleted(_ paths: [IndexPath])
  /// The items at these places have other content.
  func streamItemsChanged(_ paths: [IndexPath])
  /// Once, when what there was at the beginning is there, or could not be read.
  func streamDidFinishInitialLoad(_ error: NSError?)
  /// Something that was asked for later could not be read.
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

/// A stream of items, in sections and rows.
public protocol StreamBaseProtocol: AnyObject {
  /// Who is told of changes.
  var delegate: (any StreamBaseDelegate)? { get set }
  /// The item with this key; nil if there is none.
  func find(_ key: String) -> BaseItem?
  /// Where the item with this key is; nil if there is none.
  func findIndexPath(_ key: String) -> IndexPath?
}

extension StreamBaseDelegate {
  /// One whole batch.
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

  /// A place in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
}
#endif

#if !canImport(UIKit)
extension IndexPath {
  /// Traps unless the path has two indexes.
  public var row: Int { self[1] }

  /// A place in a section.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
}
#endif

extension IndexPath {
  static func paths(_ rows: [Int], section: Int = 0) -> [IndexPath] {
    rows.map { IndexPath(row: $0, section: section) }
  }
}

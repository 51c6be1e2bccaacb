// The changes of a data source on lists of UIKit.

#if canImport(UIKit) && !os(watchOS)
import FirebaseFirestore
public import UIKit

extension UITableView {
  /// Shows a change of a data source whose documents are the rows of a section. To be called by `onChanged`.
  /// A table that has not shown what was there before, since it was not laid out until now, is loaded anew.
  ///
  /// ```swift
  /// source.onChanged { [weak tableView] _, change in tableView?.apply(change) }
  /// ```
  public func apply<T>(
    _ change: DataSource<T>.Snapshot, section: Int = 0,
    with animation: UITableView.RowAnimation = .automatic, completion: ((Bool) -> Void)? = nil
  ) {
    let (old, new) = change.indices.steps
    guard numberOfSections > section, numberOfRows(inSection: section) == change.countBefore else {
      reloadData()
      completion?(true)
      return
    }
    performBatchUpdates(
      {
        self.deleteRows(at: old.map { IndexPath(row: $0, section: section) }, with: animation)
        self.insertRows(at: new.map { IndexPath(row: $0, section: section) }, with: animation)
      }, completion: completion)
  }
}

extension UICollectionView {
  /// The same for the items of a section.
  public func apply<T>(
    _ change: DataSource<T>.Snapshot, section: Int = 0, completion: ((Bool) -> Void)? = nil
  ) {
    let (old, new) = change.indices.steps
    guard numberOfSections > section, numberOfItems(inSection: section) == change.countBefore else {
      reloadData()
      completion?(true)
      return
    }
    performBatchUpdates(
      {
        self.deleteItems(at: old.map { IndexPath(item: $0, section: section) })
        self.insertItems(at: new.map { IndexPath(item: $0, section: section) })
      }, completion: completion)
  }
}
#endif

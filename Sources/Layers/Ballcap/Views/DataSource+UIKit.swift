// The changes of a data source in UIKit lists.

#if canImport(UIKit) && !os(watchOS)
import FirebaseFirestore
public import UIKit

extension UITableView {
  /// Shows a change of a data source whose documents are the rows of a section. Call it from `onChanged`. If
  /// the table does not show the rows from before the change, the table is reloaded. An example is a table
  /// that was not laid out until now.
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
  /// Shows a change of a data source whose documents are the items of a section. Call it from `onChanged`.
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

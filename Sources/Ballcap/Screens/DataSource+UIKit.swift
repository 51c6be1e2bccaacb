// The changes of a data source on lists of UIKit.

#if canImport(UIKit) && !os(watchOS)
import FirebaseFirestore
public import UIKit

extension UITableView {
  /// Shows a change of a data source whose documents are the rows of a section. To be called by `onChanged`.
  ///
  /// ```swift
  /// source.onChanged { [weak tableView] _, change in tableView?.apply(change) }
  /// ```
  public func apply<T>(
    _ change: DataSource<T>.Snapshot, section: Int = 0,
    with animation: UITableView.RowAnimation = .automatic, completion: ((Bool) -> Void)? = nil
  ) {
    let (old, new) = change.indices.steps
    performBatchUpdates(
      {
        deleteRows(at: old.map { IndexPath(row: $0, section: section) }, with: animation)
        insertRows(at: new.map { IndexPath(row: $0, section: section) }, with: animation)
      }, completion: completion)
  }
}

extension UICollectionView {
  /// The same for the items of a section.
  public func apply<T>(
    _ change: DataSource<T>.Snapshot, section: Int = 0, completion: ((Bool) -> Void)? = nil
  ) {
    let (old, new) = change.indices.steps
    performBatchUpdates(
      {
        deleteItems(at: old.map { IndexPath(item: $0, section: section) })
        insertItems(at: new.map { IndexPath(item: $0, section: section) })
      }, completion: completion)
  }
}
#endif

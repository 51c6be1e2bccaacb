// Shows streams in the table views of UIKit.

#if canImport(UIKit) && !os(watchOS)
public import UIKit

/// An adapter that keeps a table view up to date with a stream. The stream does not retain the adapter, so
/// the view controller must retain it.
///
/// The callback queue of the database must be the main queue, which is the default.
open class StreamTableViewAdapter: StreamTableAdapter {
  public init(tableView: UITableView, section: Int? = nil) {
    super.init(table: TableView(tableView), section: section)
  }

  private final class TableView: StreamTable {
    private let view: UITableView

    init(_ view: UITableView) { self.view = view }

    func reloadTable() { onMain { $0.reloadData() } }

    func beginTableUpdates(animated: Bool) {
      onMain { view in
        if !animated { UIView.setAnimationsEnabled(false) }
        view.beginUpdates()
      }
    }

    func deleteTableRows(_ paths: [IndexPath]) { onMain { $0.deleteRows(at: paths, with: .none) } }

    func insertTableRows(_ paths: [IndexPath]) { onMain { $0.insertRows(at: paths, with: .none) } }

    func reloadTableRows(_ paths: [IndexPath]) { onMain { $0.reloadRows(at: paths, with: .none) } }

    func endTableUpdates(animated: Bool) {
      onMain { view in
        view.endUpdates()
        if !animated { UIView.setAnimationsEnabled(true) }
      }
    }

    private func onMain(_ body: @MainActor (UITableView) -> Void) {
      MainActor.assumeIsolated { body(view) }
    }
  }
}
#endif

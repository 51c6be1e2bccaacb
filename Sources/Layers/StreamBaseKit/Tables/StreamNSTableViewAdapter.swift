// Shows streams in the table views of AppKit, which have no sections.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
public import AppKit

/// An adapter that keeps a table view up to date with a stream. The stream does not retain the adapter, so
/// the view controller must retain it.
///
/// The callback queue of the database must be the main queue, which is the default.
open class StreamNSTableViewAdapter: StreamTableAdapter {
  public init(tableView: NSTableView) {
    super.init(table: TableView(tableView))
  }

  private final class TableView: StreamTable {
    private let view: NSTableView

    init(_ view: NSTableView) { self.view = view }

    func reloadTable() { onMain { $0.reloadData() } }

    func beginTableUpdates(animated: Bool) { onMain { $0.beginUpdates() } }

    func deleteTableRows(_ paths: [IndexPath]) {
      let rows = IndexSet(paths.map { $0[1] })
      onMain { $0.removeRows(at: rows, withAnimation: []) }
    }

    func insertTableRows(_ paths: [IndexPath]) {
      let rows = IndexSet(paths.map { $0[1] })
      onMain { $0.insertRows(at: rows, withAnimation: []) }
    }

    func reloadTableRows(_ paths: [IndexPath]) {
      let rows = IndexSet(paths.map { $0[1] })
      onMain { view in
        view.reloadData(forRowIndexes: rows, columnIndexes: IndexSet(integersIn: 0..<view.numberOfColumns))
      }
    }

    func endTableUpdates(animated: Bool) { onMain { $0.endUpdates() } }

    private func onMain(_ body: @MainActor (NSTableView) -> Void) {
      MainActor.assumeIsolated { body(view) }
    }
  }
}
#endif

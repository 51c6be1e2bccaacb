// Shows a stream in a table of any UI framework.

public import Foundation

/// A table view that can show a stream.
public protocol StreamTable: AnyObject {
  /// Reloads all rows.
  func reloadTable()
  /// Starts a group of updates.
  func beginTableUpdates(animated: Bool)
  /// Deletes the rows at these paths. The paths are those before the group of updates.
  func deleteTableRows(_ paths: [IndexPath])
  /// Inserts rows at these paths. The paths are those after the group of updates.
  func insertTableRows(_ paths: [IndexPath])
  /// Reloads the content of the rows at these paths.
  func reloadTableRows(_ paths: [IndexPath])
  /// Ends the group of updates.
  func endTableUpdates(animated: Bool)
}

/// An adapter that keeps a table up to date with a stream. The stream does not retain the adapter, so the
/// creator of the adapter must retain it.
///
/// If a section is given, all rows of the stream are in that section of the table. This allows several
/// streams to share a table.
open class StreamTableAdapter: StreamBaseDelegate {
  private let table: any StreamTable
  private let section: Int?
  /// Whether the initial load has ended. Earlier updates are not animated.
  private var isLoaded = false

  /// Creates an adapter, and reloads the table.
  public init(table: any StreamTable, section: Int? = nil) {
    self.table = table
    self.section = section
    table.reloadTable()
  }

  open func streamWillChange() { table.beginTableUpdates(animated: isLoaded) }

  open func streamItemsDeleted(_ paths: [IndexPath]) { table.deleteTableRows(moved(paths)) }

  open func streamItemsAdded(_ paths: [IndexPath]) { table.insertTableRows(moved(paths)) }

  open func streamDidChange() { table.endTableUpdates(animated: isLoaded) }

  open func streamItemsChanged(_ paths: [IndexPath]) { table.reloadTableRows(moved(paths)) }

  open func streamDidFinishInitialLoad(_ error: NSError?) { isLoaded = true }

  open func streamDidFail(_ error: NSError) {}

  private func moved(_ paths: [IndexPath]) -> [IndexPath] {
    guard let section else { return paths }
    return paths.map { IndexPath(row: $0[1], section: section) }
  }
}

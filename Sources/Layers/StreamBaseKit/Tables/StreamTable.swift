// A stream in a table, whatever kit that is of.

public import Foundation

/// What a stream needs of a table view.
public protocol StreamTable: AnyObject {
  /// Everything is new.
  func reloadTable()
  /// Changes come.
  func beginTableUpdates(animated: Bool)
  /// As they were counted before the updates.
  func deleteTableRows(_ paths: [IndexPath])
  /// As they are counted after the updates.
  func insertTableRows(_ paths: [IndexPath])
  /// The rows at these places have other content.
  func reloadTableRows(_ paths: [IndexPath])
  /// Changes have come.
  func endTableUpdates(animated: Bool)
}

/// Keeps a table the way a stream is. The stream does not keep it: whoever makes one has to.
///
/// With a section, all rows of the stream are in that section of the table, so that several streams can share
/// one.
open class StreamTableAdapter: StreamBaseDelegate {
  private let table: any StreamTable
  private let section: Int?
  /// What was there at the beginning comes without animation.
  private var isLoaded = false

  /// Reloads the table.
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

// A table that rejects every update that a table view would reject.

package import Foundation
import StreamBaseKit

/// A table that stores the keys of its rows, and the text that each row had when it was added or reloaded.
///
/// Checks that each update is valid for a table view. Each deleted row exists before the update and is
/// deleted once. Each added row exists in the stream after the update and is added once. After the update,
/// each section has as many rows as the same section of the stream.
package final class ModelTable: StreamTable {
  package struct Row: Equatable {
    let key: String
    let text: Int
  }

  package private(set) var rows: [[Row]]
  /// The keys of the rows.
  package var sections: [[String]] { rows.map { $0.map(\.key) } }
  /// The first violation.
  package private(set) var problem: String?
  package private(set) var batches = 0
  package private(set) var rowsDeleted = 0
  package private(set) var rowsAdded = 0
  package private(set) var rowsReloaded = 0

  /// Returns the number of rows that the stream has in a section. This number must also be right during an
  /// update.
  private let count: (_ section: Int) -> Int
  private let key: (IndexPath) -> String?
  private let text: (IndexPath) -> Int
  private var isUpdating = false
  private var deleted: [IndexPath] = []
  private var added: [IndexPath] = []

  package init(
    sections: Int, count: @escaping (Int) -> Int, key: @escaping (IndexPath) -> String?,
    text: @escaping (IndexPath) -> Int = { _ in 0 }
  ) {
    rows = Array(repeating: [], count: sections)
    self.count = count
    self.key = key
    self.text = text
  }

  private func row(_ path: IndexPath) -> Row { Row(key: key(path) ?? "", text: text(path)) }

  private func recordProblem(_ text: @autoclosure () -> String) {
    if problem == nil { problem = "batch \(batches): \(text())" }
  }

  package func reloadTable() {
    for section in rows.indices {
      rows[section] = (0..<count(section)).map { row(IndexPath(row: $0, section: section)) }
    }
  }

  package func beginTableUpdates(animated: Bool) {
    if isUpdating { recordProblem("an update inside an update") }
    isUpdating = true
    (deleted, added) = ([], [])
  }

  package func deleteTableRows(_ paths: [IndexPath]) {
    if !isUpdating { recordProblem("rows deleted outside of an update") }
    if !added.isEmpty { recordProblem("rows deleted after others were added") }
    deleted += paths
  }

  package func insertTableRows(_ paths: [IndexPath]) {
    if !isUpdating { recordProblem("rows added outside of an update") }
    added += paths
  }

  package func reloadTableRows(_ paths: [IndexPath]) {
    if isUpdating { recordProblem("rows reloaded inside of an update") }
    rowsReloaded += paths.count
    for path in paths {
      guard isRow(path), rows[path[0]][path[1]].key == key(path) else {
        recordProblem("row \(path) was reloaded, and is another")
        continue
      }
      rows[path[0]][path[1]] = row(path)
    }
  }

  package func endTableUpdates(animated: Bool) {
    if !isUpdating { recordProblem("the end of no update") }
    isUpdating = false
    batches += 1
    rowsDeleted += deleted.count
    rowsAdded += added.count
    if deleted.isEmpty, added.isEmpty { recordProblem("a batch of nothing") }
    apply()
    checkCounts()
    for path in added where isRow(path) && rows[path[0]][path[1]].key != key(path) {
      recordProblem("row \(path) is not the added row")
    }
  }

  private func apply() {
    guard Set(deleted).count == deleted.count, Set(added).count == added.count else {
      return recordProblem("a row twice in \(deleted) or \(added)")
    }
    for path in deleted.sorted(by: >) {
      guard isRow(path) else { return recordProblem("row \(path) is deleted, and there is none") }
      rows[path[0]].remove(at: path[1])
    }
    for path in added.sorted() {
      guard rows.indices.contains(path[0]), (0...rows[path[0]].count).contains(path[1]) else {
        return recordProblem("row \(path) is added after the end")
      }
      rows[path[0]].insert(row(path), at: path[1])
    }
  }

  private func isRow(_ path: IndexPath) -> Bool {
    rows.indices.contains(path[0]) && rows[path[0]].indices.contains(path[1])
  }

  /// Checks that each section has as many rows as in the stream. The stream must already contain the change
  /// that it reports.
  private func checkCounts() {
    for section in rows.indices where rows[section].count != count(section) {
      recordProblem("section \(section) has \(rows[section].count) rows, and the stream \(count(section))")
    }
  }

  /// Compares all rows with the stream and with the expected rows.
  package func compare(_ expected: [[Row]]) {
    guard problem == nil else { return }
    for (section, (found, expected)) in zip(rows, expected).enumerated() where found != expected {
      let row =
        zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, expected.count)
      return recordProblem(
        "section \(section) differs from a fresh computation in row \(row): \(found.dropFirst(row).prefix(3)) "
          + "for \(expected.dropFirst(row).prefix(3)), \(found.count) rows for \(expected.count)")
    }
  }
}

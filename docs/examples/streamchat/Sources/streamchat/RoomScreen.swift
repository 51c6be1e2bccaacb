// One room on the screen: the newest messages at the bottom, and above them a row that fetches earlier
// messages.

import FirebaseFirestore
import Foundation
import StreamBaseKit

/// The rows of a room. The stream's first item is the newest message, so the screen reverses the order.
final class RoomScreen {
  private static let page = 5

  private let stream: StreamBase
  private let adapter: StreamTableAdapter
  private let rows: Rows
  private let context: ResourceContext

  init(_ room: Room, _ home: ResourceContext) {
    context = home.push(["room": room])
    stream = StreamBase(
      type: Message.self, ref: context.collectionRef(Message.self), limit: Self.page, ascending: false)
    rows = Rows(stream)
    // The stream holds no strong reference to the adapter.
    adapter = StreamTableAdapter(table: rows)
    stream.delegate = adapter
  }

  func say(_ text: String, as name: String) {
    let message = Message()
    message.from = name
    message.text = text
    context.create(message)
  }

  /// Deletes the newest message.
  func unsay() {
    if let last = stream.first { context.destroy(last) }
  }

  /// Handles a tap on the row at the top.
  func fetchMore(_ done: @escaping () -> Void) {
    guard let oldest = stream.last?.key else { return done() }
    stream.fetchMore(Self.page, start: oldest, done: done)
  }

  /// The lines of the screen from top to bottom.
  var lines: [String] { rows.lines(hasMore: stream.hasMore) }
}

/// A table of text. Each batch of updates changes the rows that it names, as in a table view.
private final class Rows: StreamTable {
  private let stream: StreamBase
  private var texts: [String] = []

  init(_ stream: StreamBase) { self.stream = stream }

  func lines(hasMore: Bool) -> [String] {
    (hasMore ? ["-- /more for earlier messages --"] : []) + texts.reversed()
  }

  private func text(_ path: IndexPath) -> String {
    guard let message = stream[path.row] as? Message else { return "" }
    return "\(message.from ?? "?"): \(message.text ?? "")"
  }

  func reloadTable() { texts = stream.indices.map { text(IndexPath(row: $0, section: 0)) } }

  func beginTableUpdates(animated: Bool) {}

  func deleteTableRows(_ paths: [IndexPath]) {
    for path in paths.sorted(by: >) { texts.remove(at: path.row) }
  }

  func insertTableRows(_ paths: [IndexPath]) {
    for path in paths.sorted() { texts.insert(text(path), at: path.row) }
  }

  func reloadTableRows(_ paths: [IndexPath]) {
    for path in paths { texts[path.row] = text(path) }
  }

  func endTableUpdates(animated: Bool) {}
}

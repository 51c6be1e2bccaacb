// The rows of a list, grouped into sections.
//
// Invariants:
// - `rows` has the rows of the list, in order. Each row records its section and its handle in that section.
// - Each section has handles of `rows`, in the order of the list. Each handle of `rows` is in exactly one
//   section.
//
// Converting between a row of the list and a row of a section takes logarithmic time. An insertion searches
// for its position in the section, and each comparison of this search takes logarithmic time.

import LayerKit

struct SectionedRows<Item> {
  private struct Row {
    var item: Item
    var section: Int
    var place: Int32
  }

  struct Position: Hashable {
    var section: Int
    var row: Int
  }

  private var rows = RankTree<Row>()
  private var sections: [RankTree<RankTree<Row>.Handle>]
  /// The number of rows that insertions have compared or written.
  private(set) var touched = 0

  init(sections count: Int) { sections = Array(repeating: RankTree(), count: count) }

  var count: Int { rows.count }

  // MARK: Lookup

  func count(inSection section: Int) -> Int { sections[section].count }

  func item(at position: Position) -> Item {
    let places = sections[position.section]
    return rows.element(places.element(places.handle(at: position.row))).item
  }

  func items(inSection section: Int) -> [Item] {
    var items: [Item] = []
    sections[section].forEach { items.append(rows.element($0).item) }
    return items
  }

  func section(ofRow row: Int) -> Int { rows.element(rows.handle(at: row)).section }

  func position(ofRow row: Int) -> Position {
    let row = rows.element(rows.handle(at: row))
    return Position(section: row.section, row: sections[row.section].rank(of: row.place))
  }

  /// The section position of each row of the list, in order.
  var positions: [Position] {
    var counts = Array(repeating: 0, count: sections.count)
    var positions: [Position] = []
    rows.forEach { row in
      positions.append(Position(section: row.section, row: counts[row.section]))
      counts[row.section] += 1
    }
    return positions
  }

  // MARK: Changes

  mutating func insert(_ item: Item, atRow row: Int, inSection section: Int) {
    let handle = rows.insert(Row(item: item, section: section, place: -1), at: row)
    put(handle, inSection: section)
  }

  mutating func remove(row: Int) {
    let handle = rows.handle(at: row)
    let row = rows.element(handle)
    sections[row.section].remove(row.place)
    rows.remove(handle)
  }

  mutating func replace(row: Int, with item: Item) {
    let handle = rows.handle(at: row)
    var row = rows.element(handle)
    row.item = item
    rows.replace(handle, with: row)
  }

  mutating func move(row: Int, toSection section: Int) {
    let handle = rows.handle(at: row)
    let row = rows.element(handle)
    sections[row.section].remove(row.place)
    put(handle, inSection: section)
  }

  private mutating func put(_ handle: RankTree<Row>.Handle, inSection section: Int) {
    let rank = rows.rank(of: handle)
    var compared = 0
    let index = sections[section].partition {
      compared += 1
      return rows.rank(of: $0) > rank
    }
    touched += compared + 1
    var row = rows.element(handle)
    row.section = section
    row.place = sections[section].insert(handle, at: index)
    rows.replace(handle, with: row)
  }

  // MARK: Invariants

  /// Traps if `rows` and the sections disagree. Takes more than linear time.
  func checkInvariants() {
    rows.checkInvariants()
    for section in sections { section.checkInvariants() }
    precondition(sections.reduce(0) { $0 + $1.count } == rows.count, "a row without a section")
    for (index, section) in sections.enumerated() {
      var last = -1
      section.forEach { handle in
        let rank = rows.rank(of: handle)
        precondition(rank > last && rows.element(handle).section == index, "a section out of order")
        last = rank
      }
    }
  }
}

// Tables of text for a terminal, or for a pipe of unlimited width.

struct TextTable {
  struct Column {
    var title: String
    var cells: [String]
    /// Whether the cells are aligned at their right ends.
    var isNumeric = false

    /// The number of terminal columns that the longest cell takes.
    var width: Int { cells.reduce(title.columns) { max($0, $1.columns) } }
  }

  private static let gap = "  "
  /// A column is not made narrower than this.
  private static let squeezedMin = 8

  private(set) var columns: [Column]

  init(_ columns: [Column]) { self.columns = columns }

  /// The titles, and one line for each row.
  var lines: [String] {
    let widths = columns.map(\.width)
    let rows = columns.map(\.cells.count).max() ?? 0
    let titles = line(columns.map(\.title), widths)
    return [Terminal.emphasised(titles)]
      + (0..<rows).map { row in line(columns.map { $0.cells[row] }, widths) }
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    let filled = zip(columns, zip(cells, widths)).map { column, cell in
      column.isNumeric ? cell.0.filled(fromLeftToColumns: cell.1) : cell.0.filled(toColumns: cell.1)
    }
    return String(filled.joined(separator: Self.gap).reversed().drop { $0 == " " }.reversed())
  }

  /// Removes columns from the right until the others fit, but not the first column. Returns how many were
  /// removed. A nil width is unlimited.
  mutating func removeExcess(_ width: Int?) -> Int {
    guard let width else { return 0 }
    let before = columns.count
    var used = 0
    let fitting = columns.prefix { column in
      used += column.width + Self.gap.count
      return used - Self.gap.count <= width
    }
    columns = Array(columns.prefix(max(1, fitting.count)))
    return before - columns.count
  }

  /// Shortens the cells of the widest columns until the table fits, if that is possible.
  mutating func squeeze(_ width: Int?) {
    guard let width else { return }
    let room = width - Self.gap.count * (columns.count - 1)
    let widths = columns.map(\.width)
    var cap = widths.max() ?? 0
    while cap > Self.squeezedMin, widths.reduce(0, { $0 + min($1, cap) }) > room { cap -= 1 }
    for place in columns.indices where widths[place] > cap {
      columns[place].title = columns[place].title.shortened(toColumns: cap)
      columns[place].cells = columns[place].cells.map { $0.shortened(toColumns: cap) }
    }
  }
}

// MARK: Text in terminal columns

extension Character {
  /// The number of columns in almost all terminals.
  var columns: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension String {
  /// The number of columns in a terminal.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// Truncates the text to the width, with an ellipsis if something is cut off.
  func shortened(toColumns room: Int) -> String {
    guard columns > room else { return self }
    guard room > 0 else { return "" }
    var used = 1
    let start = prefix { letter in
      used += letter.columns
      return used <= room
    }
    return start + "…"
  }

  /// Pads the text with spaces.
  func filled(toColumns room: Int) -> String { self + String(repeating: " ", count: max(0, room - columns)) }

  /// Pads the text with spaces at its start.
  func filled(fromLeftToColumns room: Int) -> String {
    String(repeating: " ", count: max(0, room - columns)) + self
  }
}

// The columns of a table, and the map that a row becomes.

import DocumentStore

struct Column: Codable {
  /// The header.
  var name: String
  /// The names from the top-level field inward.
  var path: [String]
  /// Nil if all cells are empty, and if the column is left out.
  var type: FieldType?
  /// Whether the cells are the ids of the documents.
  var isID = false
  /// Whether the cells are a field of the documents.
  var isField = true
}

enum Columns {
  /// Documents allow no deeper maps.
  private static let depthMax = 20

  /// Reads the header. Throws a problem about its line.
  static func columns(_ headers: [String], _ options: PlainOptions) throws -> [Column] {
    var columns = headers.map { header in
      let name = header.withoutOuterBlanks
      return Column(name: name, path: FieldName.path(of: name))
    }
    try requireNames(columns)
    for column in columns where column.path.count > depthMax {
      throw JSONProblem(
        message: "the name of a column has \(column.path.count - 1) dots, and a document has at most "
          + "\(depthMax) levels: write the dots between backticks, as in \"`a.b`\"")
    }
    try requireDifferentNames(columns)
    for field in options.types {
      guard let place = place(of: field.text, in: columns) else {
        throw missing(field.text, "--type", in: columns)
      }
      columns[place].type = field.type
    }
    if let id = options.idField {
      guard let place = place(of: id, in: columns) else { throw missing(id, "--id", in: columns) }
      columns[place].isID = true
      columns[place].isField = options.keepsIDField
    }
    // The cells of a column without a name must be empty.
    for place in columns.indices where columns[place].name.isEmpty { columns[place].isField = false }
    return columns
  }

  /// An option names a column by its header, or by the field that the header stands for.
  private static func place(of text: String, in columns: [Column]) -> Int? {
    let path = FieldName.path(of: text)
    return columns.firstIndex { $0.name.isSameUTF8(as: text) }
      ?? columns.firstIndex { $0.path.areSameUTF8(as: path) }
  }

  private static func missing(_ text: String, _ option: String, in columns: [Column]) -> CommandFailure {
    let names = columns.map(\.name).filter { !$0.isEmpty }
    let near = names.first { Wording.areOneTypoApart($0.lowercased(), text.lowercased()) }
    let guess = near.map { " Did you mean \($0)?" } ?? " The columns are \(listed(names))."
    return CommandFailure(code: .usage, message: "\(option): there is no column \(text).\(guess)")
  }

  private static let listedMax = 20

  private static func listed(_ names: [String]) -> String {
    names.prefix(listedMax).joined(separator: ", ") + (names.count > listedMax ? ", …" : "")
  }

  private static func requireNames(_ columns: [Column]) throws {
    // A file without a header usually has a number among its first cells, and a header has none there.
    guard !columns.allSatisfy({ $0.name.isEmpty || NumberForm($0.name) != nil }) else {
      throw JSONProblem(
        message:
          "the first line has the names of the columns, and \"\(columns.map(\.name).joined(separator: ","))\" "
          + "looks like a row: add a line with names at the start of the file")
    }
  }

  private static func requireDifferentNames(_ columns: [Column]) throws {
    /// The columns that are fields, and the first column inside each map, by the bytes of their paths.
    var (fields, maps): ([[[UInt8]]: Int], [[[UInt8]]: Int]) = ([:], [:])
    for (place, column) in columns.enumerated() where !column.name.isEmpty {
      let path = column.path.map { Array($0.utf8) }
      if let other = fields[path] {
        throw JSONProblem(
          message:
            "the columns \(other + 1) and \(place + 1) are both named \"\(column.name)\": rename one of them")
      }
      if let other = maps[path] { throw nested(columns[other], column) }
      for count in 1..<max(path.count, 1) {
        let outer = Array(path.prefix(count))
        if let other = fields[outer] { throw nested(columns[other], column) }
        if maps[outer] == nil { maps[outer] = place }
      }
      fields[path] = place
    }
  }

  private static func nested(_ earlier: Column, _ column: Column) -> JSONProblem {
    JSONProblem(
      message:
        "the columns \"\(earlier.name)\" and \"\(column.name)\" are a field and a field inside it: "
        + "rename one of them, or write the dot between backticks, as in \"`a.b`\"")
  }
}

/// The structure of a row's map.
enum RowLayout {
  case column(Int)
  /// The fields in the order of their names' bytes.
  case map([(name: String, layout: RowLayout)])

  init(_ columns: [Column]) {
    let leaves = columns.indices.filter { columns[$0].isField && columns[$0].type != nil }
    self = Self.map(leaves.map { (columns[$0].path[...], $0) })
  }

  private static func map(_ leaves: [(path: ArraySlice<String>, column: Int)]) -> RowLayout {
    var groups: [(name: String, leaves: [(path: ArraySlice<String>, column: Int)])] = []
    // By bytes, because canonically equivalent names are different fields.
    var places: [[UInt8]: Int] = [:]
    for leaf in leaves {
      guard let name = leaf.path.first else { continue }
      let rest = (path: leaf.path.dropFirst(), column: leaf.column)
      if let place = places[Array(name.utf8)] {
        groups[place].leaves.append(rest)
      } else {
        places[Array(name.utf8)] = groups.count
        groups.append((name, [rest]))
      }
    }
    return .map(
      groups.sorted { $0.name.precedesInUTF8($1.name) }.map { group in
        let only = group.leaves[0]
        return (group.name, only.path.isEmpty ? .column(only.column) : map(group.leaves))
      })
  }

  /// Returns the fields of a row. `value` returns the value of a column; nil for an empty cell.
  func fields<Failure>(_ value: (Int) throws(Failure) -> StoredValue?) throws(Failure) -> StoredMap {
    guard case .map(let members) = self else { return StoredMap() }
    var entries: [StoredMap.Entry] = []
    entries.reserveCapacity(members.count)
    for (name, layout) in members {
      switch layout {
      case .column(let column): if let value = try value(column) { entries.append((name, value)) }
      case .map:
        // A map whose cells are all empty is left out, as an empty cell is.
        let inner = try layout.fields(value)
        if !inner.isEmpty { entries.append((name, .map(inner))) }
      }
    }
    return StoredMap(entries)
  }
}

// The counts as a table for a terminal.

package enum InstructionTable {
  /// Formats the counts, each with its pin and the difference, if there is a pin.
  package static func text(_ rows: [RowCounts], _ pins: InstructionPins?) -> String {
    let titles = ["", "instructions", "mallocs", "retains", "locks", "pinned", ""]
    let lines = rows.map { row in
      let pin = pins?.rows.first { $0.name == row.name }
      let numbers = [row.instructions, row.mallocs, row.retains, row.locks].map(FixedPoint.text)
      return [row.name] + numbers + [
        pin.map { FixedPoint.text($0.instructions) } ?? "-",
        pin.map { "\(FixedPoint.text((row.instructions / $0.instructions - 1) * 100)) %" } ?? "",
      ]
    }
    return TextColumns.text([titles] + lines)
  }
}

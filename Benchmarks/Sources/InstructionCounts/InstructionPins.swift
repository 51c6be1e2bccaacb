// The pinned counts of one version of Swift on one architecture.
//
//   file = lines "# comment", and one line per row: name, instructions, mallocs, retains, locks
//
// The values are separated by spaces, and are counts for each operation of the row.

package struct InstructionPins: Equatable, Sendable {
  package var rows: [RowCounts]

  package init(_ rows: [RowCounts]) { self.rows = rows }

  package init(reading text: String) throws(InstructionError) {
    rows = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.split(separator: " ")
      guard let name = words.first, !name.hasPrefix("#") else { continue }
      let numbers = words.dropFirst().compactMap { Double($0) }.filter { $0.isFinite && $0 >= 0 }
      guard words.count == 5, numbers.count == 4, !rows.contains(where: { $0.name == name }) else {
        throw .unreadablePin(line: index + 1, String(line))
      }
      rows.append(
        RowCounts(
          name: String(name), instructions: numbers[0], mallocs: numbers[1], retains: numbers[2],
          locks: numbers[3]))
    }
  }

  /// The text of the file, with the toolchain that the counts belong to.
  package func text(_ toolchain: Toolchain) -> String {
    let head = """
      # Instructions, allocations, retains and locked mutexes of one operation, counted by callgrind.
      # \(toolchain)
      # `benchmarks --instructions` compares its counts with the instructions, and `--pin` writes this file.
      #

      """
    let titles = ["# row", "instructions", "mallocs", "retains", "locks"]
    let lines = rows.map { [$0.name] + $0.numbers.map(FixedPoint.text) }
    return head + TextColumns.text([titles] + lines)
  }
}

extension RowCounts {
  fileprivate var numbers: [Double] { [instructions, mallocs, retains, locks] }
}

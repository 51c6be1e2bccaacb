// Compares counts with the pinned ones.

package struct PinComparison: Equatable, Sendable {
  package struct Change: Equatable, Sendable {
    package var name: String
    package var pinned: Double
    package var counted: Double

    package init(name: String, pinned: Double, counted: Double) {
      self.name = name
      self.pinned = pinned
      self.counted = counted
    }
  }

  /// The relative difference from a pin that counts as unchanged.
  package static let slack = 0.03

  /// The rows with more instructions than pinned, beyond the slack.
  package var risen: [Change] = []
  /// The rows with fewer instructions than pinned, beyond the slack.
  package var fallen: [Change] = []
  /// The counted rows without a pin.
  package var unpinned: [String] = []
  /// The pins without a counted row.
  package var uncounted: [String] = []

  package init(_ rows: [RowCounts], _ pins: InstructionPins) {
    for row in rows {
      guard let pin = pins.rows.first(where: { $0.name == row.name }) else {
        unpinned.append(row.name)
        continue
      }
      let change = Change(name: row.name, pinned: pin.instructions, counted: row.instructions)
      if row.instructions > pin.instructions * (1 + Self.slack) { risen.append(change) }
      if row.instructions < pin.instructions * (1 - Self.slack) { fallen.append(change) }
    }
    uncounted = pins.rows.map(\.name).filter { name in !rows.contains { $0.name == name } }
  }

  /// Whether a check fails. Fewer instructions than pinned are no failure.
  package var isFailure: Bool { !risen.isEmpty || !unpinned.isEmpty || !uncounted.isEmpty }

  /// The sentences about all differences; empty if there are none.
  package func report(pinCommand: String) -> String {
    var lines = (risen + fallen).map { change in
      let percent = (change.counted / change.pinned - 1) * 100
      return "\(change.name): \(FixedPoint.text(change.counted)) instructions, "
        + "pinned \(FixedPoint.text(change.pinned)) (\(percent < 0 ? "" : "+")\(FixedPoint.text(percent)) %)"
    }
    lines += unpinned.map { "\($0): no instructions are pinned" }
    lines += uncounted.map { "\($0): instructions are pinned, but the row does not exist" }
    guard !lines.isEmpty else { return "" }
    if !risen.isEmpty { lines.append("If the rise is worth it, pin the new counts:") }
    if risen.isEmpty { lines.append("Pin the new counts, so that later rises are found:") }
    return (lines + ["  \(pinCommand)", ""]).joined(separator: "\n")
  }
}

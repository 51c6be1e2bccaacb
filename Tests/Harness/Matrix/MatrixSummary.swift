// The results of the corruption matrix.

package struct MatrixSummary: Sendable {
  package struct Counts: Sendable, Equatable {
    /// The open failed with an error that names the damage.
    package var detected = 0
    /// The store opened with every commit.
    package var identical = 0
    /// The report says that commits of the final group were lost after an unclean stop.
    package var reported = 0
    /// The end of a log is missing, including every frame that could confirm the missing part, and no record
    /// says where the log ended. A crash has exactly this effect.
    package var unwritten = 0
    /// All other outcomes.
    package var harm = 0

    package var all: Int { detected + identical + reported + unwritten + harm }

    static func + (left: Counts, right: Counts) -> Counts {
      Counts(
        detected: left.detected + right.detected, identical: left.identical + right.identical,
        reported: left.reported + right.reported, unwritten: left.unwritten + right.unwritten,
        harm: left.harm + right.harm)
    }
  }

  struct Row: Hashable, Sendable {
    var part: FileDamage.Part
    var kind: FileDamage.Kind
  }

  var rows: [Row: Counts] = [:]
  /// Information to reproduce the first harm: the seed, the store, the damage and the outcome.
  package var firstHarm: String?
  package var slowestOpen = Duration.zero

  package var total: Counts { rows.values.reduce(Counts(), +) }
  package var harm: Int { total.harm }

  /// The counts of each part, in the order of the parts. A part without damage has zeros. The names contain
  /// no spaces.
  package var byPart: [(name: String, counts: Counts)] {
    FileDamage.Part.allCases.map { part in
      ("\(part)", rows.reduce(Counts()) { $1.key.part == part ? $0 + $1.value : $0 })
    }
  }

  package var neverReached: [String] { byPart.filter { $0.counts.all == 0 }.map { $0.name } }

  mutating func count(_ damage: FileDamage, _ outcome: WritableKeyPath<Counts, Int>) {
    rows[Row(part: damage.part, kind: damage.kind), default: Counts()][keyPath: outcome] += 1
  }
}

extension MatrixSummary: CustomStringConvertible {
  package var description: String {
    let lines = FileDamage.Part.allCases.flatMap { part in
      FileDamage.Kind.allCases.compactMap { kind in
        rows[Row(part: part, kind: kind)].map { "\(part.rawValue) \(kind.rawValue): \($0)" }
      }
    }
    let harm = firstHarm.map { ["first harm: \($0)"] } ?? []
    return (["\(total.all) damaged stores: \(total)"] + lines + harm).joined(separator: "\n")
  }
}

extension MatrixSummary.Counts {
  /// The counts of all outcomes, each with its name.
  package var outcomes: [(name: String, count: Int)] {
    [
      ("detected", detected), ("harmless", identical), ("reportedLoss", reported),
      ("asAfterACrash", unwritten),
      ("undetected", harm),
    ]
  }
}

extension MatrixSummary.Counts: CustomStringConvertible {
  package var description: String {
    "\(detected) detected, \(identical) identical, \(reported) reported, \(unwritten) as after a crash, "
      + "\(harm) undetected harm"
  }
}

// The parts of a group of rows, and the subjects that each part compares.

/// A part of a row group: one operation, done in several ways.
struct RowPart {
  /// The operation, and what one call of it works on.
  var title: String
  /// In the order of the table. The first one is the one that all others are divided by.
  var subjects: [RowSubject]
  /// Ratios to the first subject that should not be exceeded.
  var goals: [RowGoal] = []
  /// Further lines below the table, after all rounds.
  var notes: (() -> [String])?
  /// Processes and other things that the subjects need until the end of the part.
  var resources: AnyObject?
}

/// One way to do the operation of a part.
struct RowSubject {
  var name: String
  /// The unit of the result, in which lower is better.
  var unit = "ns"
  /// Runs one round, and returns the cost of one call.
  var round: () throws -> Double
}

/// Limits that the results of a subject should not exceed.
struct RowGoal {
  var subject: String
  /// A ratio to the first subject.
  var ratioMax: Double?
  /// A result in the unit of the subject.
  var valueMax: Double?
}

/// A group of rows, which `--rows` runs.
protocol RowGroup: SendableMetatype {
  /// The name for `--rows`.
  static var name: String { get }
  static var title: String { get }
  /// Makes the parts. `directory` is empty, and is removed after the run.
  static func parts(_ options: BenchmarkOptions, in directory: String) throws -> [RowPart]
}

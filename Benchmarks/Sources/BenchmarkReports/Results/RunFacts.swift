// The circumstances of a run: the machine, the versions, the size, and the settings of the engines.

package struct RunFacts: Sendable, Equatable, Codable {
  /// The name and the title of a workload of the program.
  package struct Title: Sendable, Equatable, Codable {
    package var name: String
    package var title: String

    package init(name: String, title: String) {
      self.name = name
      self.title = title
    }
  }

  /// The size that the goals are meant for.
  package static let fullDocuments = 1_000_000
  package static let fullRounds = 5

  /// The start in ISO 8601.
  package var date: String
  /// The command line that repeats the run.
  package var command: String
  package var seconds = 0.0
  /// The document counts of the stores. Several counts give curves.
  package var documents: [Int]
  package var rounds: Int
  package var isOptimised = true
  /// The machine and the versions, by the names in `machineOrder`.
  package var machine: [String: String] = [:]
  /// The method with which W10 drops cached pages.
  package var coldOpen = ""
  /// The names of the peers that are not installed.
  package var missing: [String] = []
  /// The settings of each engine.
  package var engines: [String: String] = [:]
  /// All workloads of the program, in order, also those that did not run.
  package var workloads: [Title] = []

  package init(date: String, command: String, documents: [Int], rounds: Int) {
    self.date = date
    self.command = command
    self.documents = documents
    self.rounds = rounds
  }

  private enum CodingKeys: String, CodingKey {
    case date, command, seconds, documents, rounds, machine, missing, engines, workloads
    case isOptimised = "optimised"
    case coldOpen = "cold_open"
  }

  package var day: String { String(date.prefix(10)) }
  package var documentsMax: Int { documents.max() ?? 0 }
  package var isScale: Bool { documents.count > 1 }

  // MARK: Order

  package static let machineOrder = [
    "Dugout", "Swift", "SQLite", "LMDB", "RocksDB", "LevelDB", "Processor", "Memory", "Disk", "System",
    "Load before the run",
  ]

  /// The machine and the versions, in the order of `machineOrder`. Other names come last.
  package var machineLines: [(name: String, text: String)] {
    let known = Self.machineOrder.filter { machine[$0] != nil }
    let others = machine.keys.filter { !Self.machineOrder.contains($0) }.sorted()
    return (known + others).map { ($0, machine[$0] ?? "") }
  }

  /// The settings of the engines: Dugout first, then the peers.
  package var engineLines: [(name: String, text: String)] {
    let peers = Peer.allCases
    func rank(_ name: String) -> Int {
      Peer(engine: name).flatMap { peer in peers.firstIndex(of: peer) }.map { $0 + 1 } ?? 0
    }
    return engines.sorted { (rank($0.key), $0.key) < (rank($1.key), $1.key) }.map { ($0.key, $0.value) }
  }

  // MARK: Notices

  /// Sentences that a reader must see before the numbers. Empty for a full run.
  package func notices(measured: Set<String>) -> [String] {
    var notices: [String] = []
    if !isOptimised { notices.append("This is a debug build. Its numbers mean nothing.") }
    if let shortfall {
      notices.append(
        "\(shortfall) A full run has \(Quantity.grouped(Self.fullDocuments)) documents and "
          + "\(Self.fullRounds) rounds. These numbers do not show how the engines compare.")
    }
    let names = workloads.map(\.name)
    let skipped = names.filter { !measured.contains($0) }
    if skipped.count * 2 > names.count {
      let run = names.filter(measured.contains).joined(separator: ", ")
      notices.append(
        "This run measured only \(names.count - skipped.count) of \(names.count) workloads: \(run).")
    } else if !skipped.isEmpty {
      let list = skipped.joined(separator: ", ")
      notices.append("This run left out \(skipped.count) of \(names.count) workloads: \(list).")
    }
    for peer in missing.compactMap(Peer.init(engine:)) {
      notices.append("\(peer.title) is not compared, because \(peer.package ?? "it") is not installed.")
    }
    return notices
  }

  /// A sentence with the size of a run below the full size, or nil.
  package var shortfall: String? {
    let isSmall = documentsMax < Self.fullDocuments
    guard isSmall || rounds < Self.fullRounds else { return nil }
    return "\(isSmall ? "Small run" : "Few rounds"): \(size)."
  }

  /// The document counts and the number of rounds, in words.
  package var size: String {
    let counts = documents.map(Quantity.grouped).joined(separator: ", ")
    return "\(counts) documents, \(rounds) round\(rounds == 1 ? "" : "s")"
  }
}

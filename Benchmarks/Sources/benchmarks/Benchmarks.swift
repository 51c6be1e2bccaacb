// Runs the benchmarks. In each round of a workload, all engines run one after another in one process
// tree.

import BenchmarkReports
import Foundation

@main
struct Benchmarks {
  static let workloads: [any Workload.Type] = [
    SingleCommits.self, EightWriters.self, DurableBatches.self, BulkLoad.self, Gets.self, OrderedQueries.self,
    EqualityQueries.self, GroupQueries.self, Scans.self, ColdOpen.self, Recovery.self, DiskSize.self,
    Memory.self,
    IndexedUpdates.self, SmallBlobs.self, SmallBlobsOfEight.self, LargeBlobs.self, BlobReads.self,
    Listening.self,
    LargeDocuments.self, AsyncReads.self, ProgramSizes.self, NoRemote.self,
    SingleByteCommits.self, EightByteWriters.self, ByteBatches.self, Layers.self,
  ]

  /// Runs the benchmarks on a second thread and leaves the main thread to the main queue, so that work on the
  /// main queue is measured as in an app.
  static func main() {
    let thread = Thread {
      let status = run(CommandLine.arguments.dropFirst())
      Foundation.exit(status)
    }
    thread.stackSize = 8 << 20
    thread.start()
    dispatchMain()
  }

  private static func run(_ words: ArraySlice<String>) -> Int32 {
    do {
      if words.first == Child.mark {
        try Child.run(words.dropFirst())
        return 0
      }
      let options = try BenchmarkOptions(Array(words))
      if options.wantsHelp {
        help()
        return 0
      }
      if options.countsInstructions { return try InstructionRun.run(options) }
      if let rows = options.rows {
        try RowGroups.run(rows, options)
        return 0
      }
      if !options.storedFiles.isEmpty {
        try StoredReport.make(options)
        return 0
      }
      try measure(options)
      return 0
    } catch {
      Progress.say("benchmarks: \(error)")
      return 2
    }
  }

  private static func measure(_ options: BenchmarkOptions) throws {
    let chosen = try chosen(options)
    let start = Date()
    var results = RunResults(RunFacts(options, start: start))
    for notice in results.facts.notices(measured: Set(workloads.map { $0.name })) { Progress.say(notice) }
    for documents in options.scale.isEmpty ? [options.documents] : options.scale {
      var options = options
      options.documents = documents
      try measure(chosen, options, since: start, into: &results)
    }
    if let file = options.chartFile {
      try ReportFiles.writeChart(results, to: URL(fileURLWithPath: file))
    }
    Progress.print(TextTable.closing(results) + "\n")
  }

  private static func help() {
    print(BenchmarkOptions.help)
    for workload in workloads { print("    \(workload.name.padded(to: 6))\(workload.title)") }
  }

  private static func chosen(_ options: BenchmarkOptions) throws -> [any Workload.Type] {
    let unknown = options.only.subtracting(workloads.map { $0.name })
    guard unknown.isEmpty else {
      throw BenchmarkFailure("there is no workload \(unknown.sorted().joined(separator: ", "))")
    }
    guard options.only.isEmpty else { return workloads.filter { options.only.contains($0.name) } }
    guard options.documents < ProgramSizes.documentsMin else { return workloads }
    Progress.say("W20 is left out of runs below \(ProgramSizes.documentsMin) documents; --only W20 runs it")
    return workloads.filter { $0.name != ProgramSizes.name }
  }

  private static func measure(
    _ workloads: [any Workload.Type], _ options: BenchmarkOptions, since start: Date,
    into results: inout RunResults
  ) throws {
    let root = URL(fileURLWithPath: options.directory)
      .appendingPathComponent("dugout-benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    let context = RunContext(options, root: root)
    for workload in workloads {
      let rows = try Rounds.run(workload, context, root)
      let verdicts = workload.goals.compactMap { Verdict(workload.name, $0, rows) }
      results.add(rows, verdicts)
      results.facts.seconds = Date().timeIntervalSince(start)
      Progress.print(TextTable.text(workload, rows, verdicts) + "\n")
      // Written after each workload, so that an interrupted run keeps its earlier results.
      try ReportFiles.write(results, options)
    }
  }
}

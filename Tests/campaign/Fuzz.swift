// Mutation fuzzing of every decoder (docs/reliability.md, T6).

import Foundation
import Harness

enum Fuzz: Campaign {
  static let name = "fuzz"
  static let summary = "feeds mutated bytes to the decoders: --target NAME, all without it"
  static let amount = (option: "--seconds", standard: Optional(10))
  static let hasTargets = true

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let names = FuzzCampaign.targets.map { $0.name }
    if let target = options.target, !names.contains(target) {
      throw UnknownTarget(name: target, known: names)
    }
    var result = CampaignResult(run: 0, failed: 0)
    for target in FuzzCampaign.targets where options.target ?? target.name == target.name {
      let summary = run(target, options)
      result.run += summary.inputs
      result.details += [
        ("\(target.name).inputs", summary.inputs), ("\(target.name).answers", summary.answers.count),
      ]
      if options.target != nil, !options.wantsJSON { list(summary.answers) }
      guard let finding = summary.finding else { continue }
      result.failed += 1
      let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
      result.firstFailure = result.firstFailure ?? "\(target.name): \(finding)\ninput \(input)"
    }
    return result
  }

  /// Prints the answers of a target by frequency. If most inputs are rejected early, the target tests little.
  private static func list(_ answers: [String: Int]) {
    for (answer, count) in answers.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      printLine("\(count) \(answer)")
    }
  }

  private struct UnknownTarget: Error, CustomStringConvertible {
    var name: String
    var known: [String]

    var description: String { "there is no target \(name), only \(known.joined(separator: ", "))" }
  }

  private static func run(
    _ target: any FuzzTarget.Type, _ options: CampaignOptions
  ) -> FuzzCampaign.Summary {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(options.amount ?? 180)
    let watch = FuzzWatch(target: target.name)
    defer { watch.end() }
    let summary = FuzzCampaign.run(
      target, seed: options.seed, corpus: corpus(of: target), willRun: watch.note,
      isOver: { $0 % 64 == 0 && clock.now > end })
    if let folder = ProcessInfo.processInfo.environment["DUGOUT_CORPUS"] {
      keep(summary.kept, of: target, in: URL(fileURLWithPath: folder))
    }
    return summary
  }

  // MARK: The kept corpus

  /// The folder `Fixtures/Fuzz`, located from the path of this source file. The folder may no longer exist
  /// when the program runs.
  private static let fixtures = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/Fuzz")

  private static func corpus(of target: any FuzzTarget.Type) -> [[UInt8]] {
    let folder = fixtures.appendingPathComponent(target.name)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().compactMap { name in
      (try? Data(contentsOf: folder.appendingPathComponent(name))).map(Array.init)
    }
  }

  private static func keep(_ inputs: [[UInt8]], of target: any FuzzTarget.Type, in folder: URL) {
    let folder = folder.appendingPathComponent(target.name)
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (number, input) in inputs.enumerated() {
      try? Data(input).write(to: folder.appendingPathComponent("\(number).bin"))
    }
  }
}

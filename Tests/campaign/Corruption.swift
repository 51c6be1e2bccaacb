// Damages every kind of file in every way (docs/reliability.md, T4).

import Harness

enum Corruption: Campaign {
  static let name = "corrupt"
  static let summary =
    "damages stores bit by bit, file by file, and looks for undetected corruption: "
    + "--bytes N, every bit of N files of each kind; --large N, random flips in a store of 64 MiB"
  static let amount = (option: "--flips", standard: Optional(20_000))
  static let moreOptions = [(option: bytesOption, standard: 2048), (option: largeOption, standard: 0)]

  private static let bytesOption = "--bytes"
  private static let largeOption = "--large"

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let bytes = options.more[bytesOption] ?? 0
    let summary = CorruptionMatrix.run(
      flips: options.amount.map { .eachKind(bytes: bytes, thenRandom: $0) } ?? .all, seed: options.seed)
    options.printUnlessJSON("\(summary)")
    let unreached = summary.neverReached
    var result = CampaignResult(run: summary.total.all, failed: summary.harm + unreached.count)
    result.details = summary.total.outcomes.map { ($0.name, $0.count) }
    for (part, counts) in summary.byPart {
      result.details += counts.outcomes.map { ("\(part).\($0.name)", $0.count) }
    }
    result.firstFailure = summary.firstHarm ?? unreached.first.map { "nothing has damaged the \($0)" }
    loseFiles(max(1, (options.amount ?? 1_000_000) / 2000), options, &result)
    if let flips = options.more[largeOption], flips > 0 { flipInLargeStore(flips, options, &result) }
    return result
  }

  /// Removes whole files from document stores with many shapes.
  private static func loseFiles(_ stores: Int, _ options: CampaignOptions, _ result: inout CampaignResult) {
    let summary = LostFiles.run(stores: stores, seed: options.seed)
    options.printUnlessJSON("\(summary)")
    result.run += summary.losses
    result.failed += summary.failures
    result.details.append(("filesLost", summary.losses))
    result.firstFailure = result.firstFailure ?? summary.firstFailures.first
  }

  private static func flipInLargeStore(
    _ flips: Int, _ options: CampaignOptions, _ result: inout CampaignResult
  ) {
    let summary = LargeMatrix.run(flips: flips, seed: options.seed)
    options.printUnlessJSON("\(summary)")
    result.run += summary.total.all
    result.failed += summary.harm
    for (part, counts) in summary.byPart {
      result.details += [
        ("large.\(part).detected", counts.detected), ("large.\(part).harmless", counts.identical),
        ("large.\(part).undetected", counts.harm),
      ]
    }
    result.details += [
      ("large.bytes", summary.bytes), ("large.inBytesThatNothingReads", summary.unread),
      ("large.checks", summary.checks),
    ]
    result.firstFailure = result.firstFailure ?? summary.firstHarm
  }
}

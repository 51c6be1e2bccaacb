// Runs check and salvage on damaged stores (docs/reliability.md, P8).

import Harness

enum Repair: Campaign {
  static let name = "repair"
  static let summary =
    "checks and salvages stores that are damaged or lack files, with crashes and faults on the way"
  static let amount = (option: "--states", standard: Optional(20_000))

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let states = options.amount ?? 1_000_000
    let salvages = SalvageCampaign.run(states: states, seed: options.seed)
    options.printUnlessJSON("\(salvages)")
    let crashes = CheckCampaign.run(states: states, seed: options.seed)
    options.printUnlessJSON("\(crashes)")
    // The approximate number of damaged stores of all kinds, without flipped bits.
    let ways = 26_000
    let matrix = RepairMatrix.run(
      flips: .random(max(1, states / 20)), sparing: max(1, ways / states), seed: options.seed)
    options.printUnlessJSON("\(matrix)")
    let lost = LostFiles.run(stores: max(1, states / 500), seed: options.seed)
    options.printUnlessJSON("\(lost)")
    var result = CampaignResult(
      run: salvages.states + crashes.states + matrix.checks + lost.losses,
      failed: salvages.failures + crashes.failures + matrix.failures + lost.failures)
    result.details = [
      ("checks", matrix.checks), ("damageFound", matrix.found), ("salvaged", matrix.salvaged),
      ("refused", matrix.refused), ("crashesAndFaults", salvages.states),
      ("checksAfterCrashes", crashes.states), ("filesLost", lost.losses),
    ]
    result.firstFailure =
      matrix.firstFailures.first ?? salvages.firstFailure ?? crashes.firstFailure ?? lost.firstFailures.first
    return result
  }
}

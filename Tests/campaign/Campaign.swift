// The command line of the long tests: `campaign NAME [options]`.
//
// Each campaign prints its results. The last line is for scripts: `NAME: N run, 0 failed`. The exit status is
// 0 without failures and 1 with failures. The status is 4 if the campaign could not run to its end.

import Foundation

/// A long test.
protocol Campaign: SendableMetatype {
  static var name: String { get }
  static var summary: String { get }
  /// The option that sets the amount of work, and its default. If the default is nil, the campaign does all
  /// of the work.
  static var amount: (option: String, standard: Int?) { get }
  /// Whether the campaign accepts `--target`, and then runs only the part that the option names.
  static var hasTargets: Bool { get }
  /// Additional numeric options with their defaults.
  static var moreOptions: [(option: String, standard: Int)] { get }
  /// Additional options whose value is a text.
  static var textOptions: [String] { get }
  /// Additional options without a value.
  static var flags: [String] { get }
  static func run(_ options: CampaignOptions) async throws -> CampaignResult
}

extension Campaign {
  static var hasTargets: Bool { false }
  static var textOptions: [String] { [] }
  static var flags: [String] { [] }
  static var moreOptions: [(option: String, standard: Int)] { [] }
}

/// The result of a campaign.
struct CampaignResult {
  var run: Int
  var failed: Int
  /// Additional numbers by name, printed and in the `--json` output.
  var details: [(name: String, value: Int)] = []
  /// Additional texts by name.
  var notes: [(name: String, text: String)] = []
  /// How to reproduce the first failure.
  var firstFailure: String?
}

struct CampaignOptions {
  /// Nil means everything.
  var amount: Int?
  var seed: UInt64
  var wantsJSON: Bool
  /// The value of `--target`.
  var target: String?
  /// The values of additional options.
  var more: [String: Int] = [:]
  /// The texts of additional options that were given.
  var texts: [String: String] = [:]
  /// The options without a value that were given.
  var flags: Set<String> = []

  /// Prints a text for human readers. With `--json` it prints nothing, so that standard output contains only
  /// the JSON and the last line.
  func printUnlessJSON(_ text: @autoclosure () -> String) {
    if !wantsJSON { printLine(text()) }
  }
}

@main
struct CampaignProgram {
  static let campaigns: [any Campaign.Type] = [
    CrashStates.self, Corruption.self, Repair.self, Mutants.self, Model.self, Queries.self,
    Records.self, EmulatorComparison.self, ClientComparison.self, Transactions.self, Live.self, Sync.self,
    CatchUp.self, Hostile.self, Authorities.self, Connections.self, Pending.self, Streams.self, Counters.self,
    Layers.self, Blobs.self, Upload.self, Copies.self,
    Fuzz.self, KillCampaign.self, Readers.self, Space.self, Memory.self, Borrowed.self, Shapes.self,
    Overload.self, Soak.self, ServeCampaign.self, AbuseCampaign.self, ChannelHistories.self,
    Listeners.self,
  ]

  static func main() async {
    var words = Array(CommandLine.arguments.dropFirst())
    if words.first == KillWorker.word { await KillWorker.main(Array(words.dropFirst())) }
    if words.first == StoreKillWorker.word { StoreKillWorker.main(Array(words.dropFirst())) }
    if words.first == LayerKillWorker.word { await LayerKillWorker.main(Array(words.dropFirst())) }
    if words.first == SoakWorker.word { SoakWorker.main(Array(words.dropFirst())) }
    if words.first == ReaderCampaignWriter.word { ReaderCampaignWriter.main(Array(words.dropFirst())) }
    if words.first == ReaderCampaignReader.word { ReaderCampaignReader.main(Array(words.dropFirst())) }
    if words.first == MemoryWorker.word { MemoryWorker.main(Array(words.dropFirst())) }
    if words.first == CounterWorker.word { await CounterWorker.main(Array(words.dropFirst())) }
    #if Server
    if words.first == SyncWorker.word { await SyncWorker.main(Array(words.dropFirst())) }
    if words.first == CatchUpWorker.word { CatchUpWorker.main(Array(words.dropFirst())) }
    #endif
    guard let name = words.first, let campaign = campaigns.first(where: { $0.name == name }) else {
      complain(help)
      exit(2)
    }
    words.removeFirst()
    guard let options = parse(words, for: campaign) else {
      complain(help)
      exit(2)
    }
    do {
      let result = try await campaign.run(options)
      report(result, of: campaign, options)
      exit(result.failed == 0 ? 0 : 1)
    } catch {
      complain("campaign \(name): \(error)")
      exit(4)
    }
  }

  private static var help: String {
    let rows = campaigns.map { campaign in
      let more =
        campaign.moreOptions.map { " [\($0.option) N]" }.joined()
        + campaign.textOptions.map { " [\($0) TEXT]" }.joined()
        + campaign.flags.map { " [\($0)]" }.joined()
      return "  campaign \(campaign.name) \(campaign.amount.option) N|all\(more)   \(campaign.summary)"
    }
    return (["Usage: campaign NAME [--seed S] [--json]"] + rows).joined(separator: "\n")
  }

  private static func parse(
    _ words: [String], for campaign: any Campaign.Type
  ) -> CampaignOptions? {
    let environment = ProcessInfo.processInfo.environment["DUGOUT_SEED"].flatMap(UInt64.init)
    var options = CampaignOptions(
      amount: campaign.amount.standard, seed: environment ?? UInt64.random(in: 0...UInt64.max >> 1),
      wantsJSON: false)
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--json":
        options.wantsJSON = true
      case "--seed":
        guard let seed = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
        options.seed = seed
      case "--target" where campaign.hasTargets:
        options.target = rest.popFirst()
        if options.target == nil { return nil }
      case campaign.amount.option:
        guard let word = rest.popFirst() else { return nil }
        options.amount = Int(word)
        guard word == "all" || options.amount.map({ $0 > 0 }) == true else { return nil }
      case _ where campaign.moreOptions.contains(where: { $0.option == word }):
        guard let number = rest.popFirst().flatMap({ Int($0) }), number >= 0 else { return nil }
        options.more[word] = number
      case _ where campaign.textOptions.contains(word):
        guard let text = rest.popFirst() else { return nil }
        options.texts[word] = text
      case _ where campaign.flags.contains(word): options.flags.insert(word)
      default:
        return nil
      }
    }
    for (option, standard) in campaign.moreOptions where options.more[option] == nil {
      options.more[option] = standard
    }
    return options
  }

  private static func report(
    _ result: CampaignResult, of campaign: any Campaign.Type, _ options: CampaignOptions
  ) {
    if options.wantsJSON {
      var object: [String: Any] = [
        "campaign": campaign.name, "run": result.run, "failed": result.failed, "seed": options.seed,
      ]
      for (name, value) in result.details { object[name] = value }
      for (name, text) in result.notes { object[name] = text }
      if let failure = result.firstFailure { object["firstFailure"] = failure }
      let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
      printLine(String(decoding: data ?? Data(), as: UTF8.self))
    } else {
      for (name, value) in result.details { printLine("\(name): \(value)") }
      printLine("seed: \(options.seed)")
    }
    if let failure = result.firstFailure { complain("first failure: \(failure)") }
    printLine("\(campaign.name): \(result.run) run, \(result.failed) failed")
  }
}

func printLine(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

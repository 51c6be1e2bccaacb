// Compares Firestore's emulator with the naive evaluator on random documents and queries, and with our
// service on random requests (Harness/Service).
//
// The evaluator applies the emulator's rules. The campaign also counts the results that would differ under
// the contract's rules. The emulator rejects some queries that pass a query's own checks, so the campaign
// counts the emulator's refusals by reason.

import DocumentStore
import Foundation
import Harness

enum EmulatorComparison: Campaign {
  static let name = "emulator"
  static let summary = "compares query results, and answers of our service, with Firestore's emulator"
  static let amount = (option: "--count", standard: Optional(2_000))

  private static let differencesShown = 20

  private struct Tally {
    var run = 0
    var refused: [String: Int] = [:]
    var failed = 0
    ///  The number of results that still differ when they are compared by the contract's rules.
    var differences = 0
    var firstFailure: String?
    var documentsRefused: [String: Int] = [:]
  }

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let emulator: EmulatorProcess
    switch await EmulatorProcess.start() {
    case .success(let started): emulator = started
    case .failure(let absence):
      complain("SKIPPED: nothing is compared with Firestore's emulator, because \(absence)")
      return CampaignResult(run: 0, failed: 0)
    }
    defer { emulator.stop() }
    let queries = try await compareQueries(emulator.address, options)
    let requests = await compareRequests(emulator.address, options)
    return CampaignResult(
      run: queries.run + requests.run, failed: queries.failed + requests.failed,
      details: queries.details + requests.details,
      firstFailure: queries.firstFailure ?? requests.firstFailure)
  }

  /// Sends scripts of requests to our service and to the emulator.
  private static func compareRequests(_ host: String, _ options: CampaignOptions) async -> CampaignResult {
    var campaign = ServiceCampaign(EmulatorPeer(host))
    await campaign.compare(requests: options.amount ?? 100_000, seed: options.seed)
    campaign.concludeErrors()
    for failure in campaign.failures.prefix(differencesShown) { complain(failure) }
    var result = CampaignResult(run: campaign.run, failed: campaign.failures.count)
    result.firstFailure = campaign.failures.first.map { "seed \(options.seed)\n\($0)" }
    result.details = KnownDifference.allCases.map {
      ("known difference: \($0.rawValue)", campaign.known[$0, default: 0])
    }
    result.details += campaign.statuses.sorted { $0.key < $1.key }.map {
      ("answers with status \($0.key)", $0.value)
    }
    return result
  }

  /// Sends queries to the emulator, and compares the results with those of the evaluator.
  private static func compareQueries(
    _ host: String, _ options: CampaignOptions
  ) async throws -> CampaignResult {
    var tally = Tally()
    var program = 0
    while tally.run < options.amount ?? 100_000 {
      try await compare(host, SeededRandom.seed(options.seed, UInt64(program)), program, options, &tally)
      program += 1
    }
    var result = CampaignResult(run: tally.run, failed: tally.failed)
    result.firstFailure = tally.firstFailure
    result.details = [("otherwiseByTheContract", tally.differences)]
    result.details += tally.refused.sorted { $0.key < $1.key }.map { ("refused: \($0.key)", $0.value) }
    result.details += tally.documentsRefused.sorted { $0.key < $1.key }.map {
      ("documents refused: \($0.key)", $0.value)
    }
    return result
  }

  private static func compare(
    _ host: String, _ seed: UInt64, _ program: Int, _ options: CampaignOptions, _ tally: inout Tally
  ) async throws {
    var generator = DocumentGenerator(seed: seed)
    let all = generator.documents(8 + generator.random.below(60)).map(EmulatorLimits.fitted)
    let client = EmulatorClient(host: host, project: "p\(options.seed)-\(program)")
    let documents = try await save(all, with: client, &tally)
    guard !documents.isEmpty else { return }
    var queries = QueryGenerator(seed: SeededRandom.seed(seed, 1), about: documents)
    for _ in 0..<100 {
      let query = generator.random.oneIn(2) ? queries.query() : queries.selectiveQuery()
      guard (try? query.check()) != nil, EmulatorLimits.canAsk(query) else { continue }
      let expected = paths(NaiveEvaluator(query, .emulator), documents)
      do {
        let found = try await client.paths(query)
        tally.run += 1
        if expected != paths(NaiveEvaluator(query), documents) { tally.differences += 1 }
        guard !found.elementsEqual(expected, by: { $0.utf8.elementsEqual($1.utf8) }) else { continue }
        tally.failed += 1
        let text =
          "seed \(options.seed), program \(program)\n\(query.canonicalID)\nemulator: \(found)\nexpected: \(expected)"
        if tally.failed <= differencesShown { complain(text) }
        tally.firstFailure = tally.firstFailure ?? text
      } catch let refusal as EmulatorClient.Refusal {
        tally.refused[shape(refusal.message), default: 0] += 1
      }
    }
  }

  private static func paths(_ evaluator: NaiveEvaluator, _ documents: [StoredDocument]) -> [String] {
    evaluator.answer(from: documents).map(\.path.description)
  }

  /// Returns the documents that the emulator accepts.
  private static func save(
    _ documents: [StoredDocument], with client: EmulatorClient, _ tally: inout Tally
  ) async throws -> [StoredDocument] {
    do {
      try await client.save(documents)
      return documents
    } catch is EmulatorClient.Refusal {}
    var saved: [StoredDocument] = []
    for document in documents {
      do {
        try await client.save([document])
        saved.append(document)
      } catch let refusal as EmulatorClient.Refusal {
        tally.documentsRefused[shape(refusal.message), default: 0] += 1
      }
    }
    return saved
  }

  /// Returns a message without its variable parts.
  private static func shape(_ message: String) -> String {
    String(message.prefix(90)).replacing(/[0-9]+/, with: "#")
  }
}

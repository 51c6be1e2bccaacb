// Sends random scripts of requests to our service and to Firestore's emulator, and compares the answers.

package struct ServiceCampaign {
  /// The number of requests that were compared.
  package private(set) var run = 0
  /// The differences that are not meant, with the scripts that lead to them.
  package private(set) var failures: [String] = []
  package private(set) var known: [KnownDifference: Int] = [:]
  /// The number of answers of each status.
  package private(set) var statuses: [Int: Int] = [:]

  private static let stepCount = 40
  private let emulator: EmulatorPeer

  package init(_ emulator: EmulatorPeer) { self.emulator = emulator }

  /// Compares the answers to at least this number of requests.
  package mutating func compare(requests count: Int, seed: UInt64) async {
    var program: UInt64 = 0
    while run < count {
      await compare(RESTScript(seed: SeededRandom.seed(seed, program), stepCount: Self.stepCount))
      program += 1
    }
  }

  /// Runs a script until its first difference that is not meant. Later answers depend on it.
  private mutating func compare(_ script: RESTScript) async {
    let service = ServicePeer()
    var comparison = RESTComparison()
    var (ourSymbols, theirSymbols): ([String: String], [String: String]) = ([:], [:])
    for (place, step) in script.steps.enumerated() {
      var ours = await service.reply(to: step.request(ourSymbols))
      var theirs = await emulator.reply(to: step.request(theirSymbols))
      run += 1
      statuses[theirs.status, default: 0] += 1
      for (symbol, member) in step.captures {
        ourSymbols[symbol] = ours.body.first(member)?.text
        theirSymbols[symbol] = theirs.body.first(member)?.text
      }
      let answers = (ours, theirs)
      for kind in KnownDifference.remove(from: &ours, &theirs) { known[kind, default: 0] += 1 }
      guard let difference = comparison.difference(ours, theirs) else { continue }
      if let kind = KnownDifference.of(step, ours, theirs) {
        known[kind, default: 0] += 1
        if ours.isError == theirs.isError { continue }
        return
      }
      failures.append(
        """
        \(difference)
          request \(place): \(step)
          ours:   \(answers.0.status) \(answers.0.body)
          theirs: \(answers.1.status) \(answers.1.body)
          before: \(script.steps[..<place].map(\.description).suffix(8).joined(separator: "\n          "))
        """)
      return
    }
  }
}

// Sends random scripts of requests to our service and to Firestore's emulator, and compares the answers.

package struct ServiceCampaign {
  /// The number of requests that were compared.
  package private(set) var run = 0
  /// The differences that are not meant, with the requests that lead to them.
  package private(set) var failures: [String] = []
  /// The number of differences of each kind that is meant.
  package private(set) var known: [KnownDifference: Int] = [:]
  /// The number of answers of each status.
  package private(set) var statuses: [Int: Int] = [:]

  /// The errors that both peers gave to the same request, without their variable parts.
  private var sharedErrors: Set<String> = []
  /// Requests that both peers refused with different errors.
  private var otherErrors: [(ours: String, theirs: String, text: String)] = []

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

  /// Judges requests that were refused with different errors. Such a request has several errors, which is
  /// fine if both peers know both: each of the two texts was the answer of both peers to another request.
  package mutating func concludeErrors() {
    for (ours, theirs, text) in otherErrors {
      if [ours, theirs].allSatisfy({ sharedErrors.contains($0) || KnownDifference.isText($0) }) {
        known[.otherError, default: 0] += 1
      } else {
        failures.append(text)
      }
    }
    otherErrors = []
  }

  /// Runs a script until the first difference after which the documents may differ.
  private mutating func compare(_ script: RESTScript) async {
    let service = ServicePeer()
    await emulator.clear(script.database)
    var comparison = RESTComparison()
    var (ourSymbols, theirSymbols): ([String: String], [String: String]) = ([:], [:])
    for (place, step) in script.steps.enumerated() {
      // A symbol that only one peer has stands for a token of an empty page.
      guard step.symbols.allSatisfy({ (ourSymbols[$0] == nil) == (theirSymbols[$0] == nil) }) else {
        continue
      }
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
      guard let difference = comparison.difference(ours, theirs) else {
        if ours.isError { sharedErrors.insert(Self.shape(ours.message)) }
        continue
      }
      if let kind = KnownDifference.of(step, ours, theirs) {
        known[kind, default: 0] += 1
        if ours.isError == theirs.isError { continue }
        return
      }
      let text = """
        \(difference)
          request \(place): \(step)
          ours:   \(answers.0.status) \(answers.0.body)
          theirs: \(answers.1.status) \(answers.1.body)
          before: \(script.steps[..<place].map(\.description).suffix(8).joined(separator: "\n          "))
        """
      guard ours.isError, theirs.isError else { return failures.append(text) }
      otherErrors.append((Self.shape(ours.message), Self.shape(theirs.message), text))
    }
  }

  /// A message without its variable parts: names in quotes, numbers, and names of fields at the end.
  private static func shape(_ message: String) -> String {
    if KnownDifference.isText(message) { return message }
    var shape = ""
    var isQuoted = false
    for character in message {
      if character == "\"" { isQuoted.toggle() }
      if !isQuoted, !character.isNumber { shape.append(character) }
    }
    for prefix in [
      "order by clause cannot contain duplicate fields", "Aggregation aliases contain duplicate",
    ]
    where shape.hasPrefix(prefix) { return prefix }
    return shape
  }
}

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
    await compare(RESTScript(errorsOf: seed))
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
      let isOursKnown = KnownText.isOurs(ours) || sharedErrors.contains(Self.shape(ours))
      let isTheirsKnown = KnownText.isTheirs(theirs) || sharedErrors.contains(Self.shape(theirs))
      if isOursKnown, isTheirsKnown {
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
      let ours = await service.reply(to: step.request(ourSymbols))
      var theirs = await emulator.reply(to: step.request(theirSymbols))
      if step.mayHaveUnknownFields, !ours.isUndecodable, theirs.message == KnownText.undecodableText {
        // Without the fields that only the emulator refuses, nothing is left of these bodies.
        var known = step
        known.body = "{}"
        theirs = await emulator.reply(to: known.request(theirSymbols))
        count(.unknownField)
      }
      run += 1
      statuses[theirs.status, default: 0] += 1
      for (symbol, member) in step.captures {
        ourSymbols[symbol] = ours.body.first(member)?.text
        theirSymbols[symbol] = theirs.body.first(member)?.text
      }
      let parts = KnownParts(step, ours, theirs)
      parts.found.forEach { count($0) }
      var difference = comparison.difference(parts.ours, parts.theirs)
      let kind = difference == nil ? nil : KnownDifference.of(step, parts.ours, parts.theirs)
      if let kind {
        count(kind)
        difference = nil
      }
      if kind?.needsEvaluator == true || parts.found.contains(.aggregationLimit) {
        difference = difference ?? check(step, ours, ourSymbols, service, script.database)
      }
      if difference == nil, parts.found.contains(.tokenOfEmptyPage) {
        difference = await checkNextPage(step, theirs, theirSymbols)
      }
      if let difference {
        report(difference, script, place, ours: ours, theirs: theirs)
      } else if ours.isError, kind == nil, parts.found.isEmpty {
        sharedErrors.insert(Self.shape(ours.message))
      }
      // The documents may differ from here on.
      if ours.isError != theirs.isError, step.isWrite { return }
    }
  }

  private mutating func count(_ kind: KnownDifference) { known[kind, default: 0] += 1 }

  private mutating func report(
    _ difference: String, _ script: RESTScript, _ place: Int, ours: RESTReply, theirs: RESTReply
  ) {
    let text = """
      \(difference)
        request \(place): \(script.steps[place])
        ours:   \(ours.status) \(ours.body)
        theirs: \(theirs.status) \(theirs.body)
        before: \(script.steps[..<place].map(\.description).suffix(8).joined(separator: "\n          "))
      """
    // A request can have several errors, so a judgement needs all errors that both peers know.
    guard ours.isError, theirs.isError else { return failures.append(text) }
    otherErrors.append((ours.message, theirs.message, text))
  }

  // MARK: Answers that only one side has

  /// Compares our answer with the evaluator.
  private func check(
    _ step: RESTStep, _ ours: RESTReply, _ symbols: [String: String], _ service: ServicePeer,
    _ database: String
  ) -> String? {
    do {
      let refused = try RefusedQuery(database, service)
      return refused.difference(step, step.request(symbols), ours)
    } catch {
      return "the documents cannot be read: \(error)"
    }
  }

  /// The page after a token that only the emulator gives must be empty.
  private func checkNextPage(
    _ step: RESTStep, _ theirs: RESTReply, _ symbols: [String: String]
  ) async -> String? {
    guard let token = theirs.body["nextPageToken"]?.text else { return nil }
    guard step.parameter("orderBy") == nil else {
      // The emulator cannot read its own tokens of ordered lists, but it can send all documents at once.
      let all = await emulator.reply(to: step.wholePage.request(symbols))
      return all.body["documents"] == theirs.body["documents"] ? nil : "there is a next page: \(all.body)"
    }
    let page = await emulator.reply(to: step.nextPage(token).request(symbols))
    let isEmpty = page.body["documents"] == nil && page.body["collectionIds"] == nil
    return !page.isError && isEmpty ? nil : "the page after a token that only theirs has: \(page.body)"
  }

  /// A message without its variable parts: names in quotes, numbers, and names of fields at the end.
  private static func shape(_ message: String) -> String {
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

extension RESTReply {
  /// Whether our service has refused to decode the message.
  fileprivate var isUndecodable: Bool {
    KnownText.decodingTexts.contains { message.hasPrefix($0) }
  }
}

extension RESTStep {
  /// Whether the step can change documents or transactions.
  fileprivate var isWrite: Bool {
    method == "PATCH" || method == "DELETE"
      || [":commit", ":batchWrite", ":rollback", ":beginTransaction"].contains { path.hasSuffix($0) }
      || method == "POST" && !path.contains(":")
  }

  fileprivate var wholePage: RESTStep {
    var whole = self
    whole.parameters = parameters.filter { $0.key != "pageSize" } + [("pageSize", "300")]
    return whole
  }

  fileprivate func nextPage(_ token: String) -> RESTStep {
    var next = self
    next.captures = []
    if method == "GET" {
      next.parameters = parameters.filter { $0.key != "pageToken" } + [("pageToken", token)]
    } else {
      next.body = #"{"pageToken":"\#(token)","pageSize":1}"#
    }
    return next
  }
}

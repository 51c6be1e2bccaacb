// Lookups and aggregations, which must show the documents after the last commit; tokens of other databases;
// and the end of a history, at which all clients must have the authority's documents.

import Authority
import DocumentStore
import OfflineSync

extension AuthorityHistory {
  mutating func readDirectly() throws {
    if random.oneIn(2) {
      count(.lookups)
      let paths = (0...random.below(4)).map { _ in generator.path() }
      let found = try host.authority.documents(at: paths, as: nil)
      for (path, document) in zip(paths, found) {
        guard document.path == path, document.fields == truth.current[path]?.fields else {
          throw Violation("a lookup of \(path) finds \(document)")
        }
      }
      guard found.count == paths.count else { throw Violation("a lookup finds \(found.count) documents") }
    } else {
      count(.aggregations)
      let documents = Array(truth.current.values)
      guard
        case .query(let query) = generator.subject(about: documents.sorted { "\($0.path)" < "\($1.path)" })
      else { return }
      let (answer, expected) = (
        try host.authority.aggregate([.count], over: query, as: nil),
        NaiveEvaluator(query).results(of: [.count], over: documents)
      )
      guard answer == expected else {
        throw Violation("the count of \(query.canonicalID) is \(answer), and not \(expected)")
      }
    }
  }

  // MARK: Tokens

  /// Collects tokens of a database that has the same documents at other positions.
  mutating func prepareStranger() throws {
    var client = ModelClient(-1, user: nil)
    var truth = AuthorityTruth()
    for _ in 0..<3 {
      let mutations = generator.mutations()
      stranger.note(mutations)
      try stranger.store.commit(mutations)
    }
    truth.begin(with: try stranger.documents())
    client.connect(to: stranger)
    let id = client.add(.query(StructuredQuery(.collection(CollectionPath(unchecked: ["c"])))))
    client.watch(id, .none, sendsCount: false, mayBeRefused: false)
    while client.runJob() {}
    while try client.receive(truth) != nil {}
    guard let token = client.memory.targets[id]?.token, !token.isEmpty else {
      throw Violation("a snapshot has no token")
    }
    foreignTokens.append(token)
    try client.disconnect()
  }

  /// Returns bytes that resemble a token.
  mutating func forgedToken(_ token: [UInt8]) -> [UInt8] {
    guard !token.isEmpty else { return random.bytes(1 + random.below(64)) }
    var forged = token
    switch random.below(5) {
    case 0: forged.removeLast(1 + random.below(token.count))
    case 1: forged += random.bytes(1 + random.below(9))
    case 2: forged = random.bytes(token.count)
    case 3: forged.removeFirst()
    default: forged[random.below(forged.count)] ^= 1 << UInt8(random.below(8))
    }
    return forged.isEmpty || forged == token ? [0] : forged
  }

  // MARK: The end

  /// Lets everything arrive. All clients must then have the authority's documents, and each write must have
  /// been accepted once or refused.
  mutating func converge() throws {
    log.note("everything arrives")
    for number in writers.indices {
      while !writers[number].pending.isEmpty {
        try connectWriter(number)
        while writers[number].sendNext() != nil {}
        guard let write = writers[number].takeArriving() else { throw Violation("a queue is stuck") }
        try arrive(write, at: number, isStray: false)
      }
      while !writers[number].strays.isEmpty {
        try arrive(writers[number].takeStray(0), at: number, isStray: true)
      }
    }
    try requireCounters()
    let last = try host.time()
    for number in clients.indices {
      if !clients[number].isConnected { connect(number) }
      clients[number].advance()
      try catchUp(number)
      guard clients[number].incomplete.isEmpty else {
        throw Violation("client \(number): \(clients[number].incomplete) are not current")
      }
      guard clients[number].watched.isEmpty || clients[number].memory.version >= last else {
        throw Violation(
          "client \(number) is at \(clients[number].memory.version.microseconds), and the last commit was at "
            + "\(last.microseconds)")
      }
    }
  }

  /// Runs a client's session and delivers its messages until nothing is left.
  private mutating func catchUp(_ number: Int) throws {
    for _ in 0..<10_000 {
      while clients[number].runJob() {}
      guard try receive(number) || clients[number].hasJobs else { return }
    }
    throw Violation("client \(number) never has all messages")
  }
}

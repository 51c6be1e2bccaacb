// What the clients of a history do: they watch, unwatch, resume, disconnect and die.

import DocumentStore
import OfflineSync

extension AuthorityHistory {
  mutating func actOfClient(_ number: Int) throws {
    guard clients[number].isConnected else { return connect(number) }
    switch random.below(16) {
    case 0..<4: addTarget(number)
    case 4..<7: watchAgain(number)
    case 7, 8: unwatch(number)
    case 9: unwatchAndWatch(number)
    case 10: repeatID(number)
    case 11: try disconnect(number)
    case 12: try die(number)
    case 13: try setBack(number)
    case 14: loseKeys(number)
    default:
      log.note("client \(number) asks for the time")
      clients[number].advance()
    }
  }

  // MARK: Connections

  mutating func connect(_ number: Int) {
    log.note("client \(number) connects as \(clients[number].user ?? "nobody")")
    clients[number].connect(to: host)
    for id in clients[number].unwatched where !random.oneIn(4) { resume(number, id) }
  }

  mutating func disconnect(_ number: Int) throws {
    guard clients[number].isConnected else { return }
    count(.disconnects)
    log.note("client \(number) disconnects")
    try clients[number].disconnect()
    if random.oneIn(4) {
      clients[number].user = [nil, "ann", "bob"][random.below(3)]
    }
  }

  /// Ends the process of a client, which keeps its documents and tokens.
  private mutating func die(_ number: Int) throws {
    count(.clientDeaths)
    log.note("client \(number) dies")
    try clients[number].disconnect()
    savedMemories[number] = savedMemories[number] ?? clients[number].memory
    if random.oneIn(2) { connect(number) }
  }

  /// Sets a client back to an earlier state, with its old documents and tokens.
  private mutating func setBack(_ number: Int) throws {
    guard var memory = savedMemories.removeValue(forKey: number) else {
      savedMemories[number] = clients[number].memory
      return
    }
    count(.clientsSetBack)
    log.note("client \(number) is set back to \(memory.version.microseconds)")
    try clients[number].disconnect()
    // Ids are not used again for other targets.
    memory.lastID = clients[number].memory.lastID
    clients[number].memory = memory
    connect(number)
    count(.oldTokens, clients[number].watched.count)
  }

  /// A client that is not connected loses some documents of a target.
  private mutating func loseKeys(_ number: Int) {
    let candidates = clients[number].unwatched.filter {
      (clients[number].memory.targets[$0]?.keys.count ?? 0) > 1
    }
    guard let id = candidates.randomElement(using: &random), var target = clients[number].memory.targets[id],
      !target.token.isEmpty
    else { return }
    count(.lostKeys)
    let lost = target.keys.sorted { "\($0)" < "\($1)" }.prefix(1 + random.below(target.keys.count - 1))
    log.note("client \(number) loses \(lost.count) documents of \(id)")
    target.keys.subtract(lost)
    target.hasLostKeys = true
    clients[number].memory.targets[id] = target
    resume(number, id)
  }

  // MARK: Targets

  mutating func addTarget(_ number: Int) {
    guard clients[number].memory.targets.count < 10 else { return forget(number) }
    let documents = truth.current.values.sorted { "\($0.path)" < "\($1.path)" }
    let id = clients[number].add(generator.subject(about: documents))
    count(.targets)
    if case .documents? = clients[number].memory.targets[id]?.subject { count(.documentTargets) }
    if random.oneIn(12) {
      count(.targetsOnce)
      clients[number].memory.targets[id]?.isOnce = true
    }
    watch(number, id, .none)
  }

  private mutating func forget(_ number: Int) {
    guard let id = clients[number].unwatched.randomElement(using: &random) else { return unwatch(number) }
    clients[number].memory.targets[id] = nil
  }

  private mutating func watch(_ number: Int, _ id: TargetID, _ token: ModelClient.Token) {
    guard let target = clients[number].memory.targets[id] else { return }
    let isForbidden =
      if case .query(let query) = target.subject { Self.isForbidden(query, to: clients[number].user) } else {
        false
      }
    if isForbidden { count(.refusedTargets) }
    let sendsCount = random.oneIn(2)
    if !sendsCount, case .own = token { count(.resumesWithoutCount) }
    log.note("client \(number) watches \(target.description) \(token.text) of \(target.keys.count)")
    clients[number].watch(id, token, sendsCount: sendsCount, mayBeRefused: isForbidden)
  }

  /// Watches a target that the client knows, in one of the ways in which a client may resume.
  private mutating func resume(_ number: Int, _ id: TargetID) {
    guard let target = clients[number].memory.targets[id] else { return }
    if target.hasLostKeys {
      count(.resumes)
      return watch(number, id, .own)
    }
    switch random.below(12) {
    case 0: watch(number, id, .none)
    case 1:
      count(.resumesByTime)
      watch(number, id, .readTime)
    case 2:
      count(.forgedTokens)
      watch(number, id, .forged(forgedToken(target.token)))
    case 3:
      guard let token = foreignTokens.randomElement(using: &random) else { return }
      count(.foreignTokens)
      watch(number, id, .forged(token))
    default:
      if !target.token.isEmpty { count(.resumes) }
      watch(number, id, .own)
    }
  }

  private mutating func watchAgain(_ number: Int) {
    guard let id = clients[number].unwatched.randomElement(using: &random) else { return }
    count(.targetsAddedAgain)
    resume(number, id)
  }

  private mutating func unwatch(_ number: Int) {
    guard let id = clients[number].watched.randomElement(using: &random) else { return }
    count(.removedTargets)
    log.note("client \(number) unwatches \(id)")
    clients[number].unwatch(id)
    if random.oneIn(2) { clients[number].memory.targets[id] = nil }
  }

  /// Removes a target and adds it again, without waiting for an answer.
  private mutating func unwatchAndWatch(_ number: Int) {
    guard let id = clients[number].watched.randomElement(using: &random) else { return }
    count(.targetsAddedAgain)
    log.note("client \(number) unwatches \(id)")
    clients[number].unwatch(id)
    resume(number, id)
  }

  /// Adds a target whose id is in use. The authority must end the target.
  private mutating func repeatID(_ number: Int) {
    guard let id = clients[number].watched.randomElement(using: &random) else { return }
    count(.repeatedIDs)
    log.note("client \(number) uses the id \(id) again")
    clients[number].watch(id, .none, sendsCount: false, mayBeRefused: true)
  }

  // MARK: Delivery

  /// Lets the session of a client work, and some of its messages arrive. Sometimes neither happens, so that
  /// the stream falls behind.
  mutating func deliver(_ number: Int) throws {
    if random.oneIn(6) { return count(.slowStreams) }
    for _ in 0..<1 + random.below(4) where clients[number].runJob() {}
    for _ in 0..<random.below(40) { guard try receive(number) else { break } }
  }

  mutating func receive(_ number: Int) throws -> Bool {
    let snapshots = clients[number].snapshots
    let comparisons = clients[number].comparisons
    noteNewLife()
    guard let text = try clients[number].receive(truth) else { return false }
    log.note(text)
    count(.snapshots, clients[number].snapshots - snapshots)
    count(.comparisons, clients[number].comparisons - comparisons)
    return true
  }
}

extension ModelClient.Token {
  fileprivate var text: String {
    switch self {
    case .none: "from the start"
    case .own: "with its token"
    case .readTime: "from its time"
    case .forged(let bytes): "with a wrong token of \(bytes.count) B"
    }
  }
}

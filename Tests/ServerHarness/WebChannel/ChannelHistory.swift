// One history of clients of WebChannel behind a proxy with faults.
//
//   1. Writers and listeners of one collection open their sessions. Listeners lose their back channels, and
//      come back in new sessions.
//   2. In a part of the histories, the server is drained once or twice, and another one opens its store.
//   3. The faults become fewer, and end. Each writer comes to its end: it leaves, ends its stream, or sends
//      a write that fails.
//   4. Each write is in the store once, and all listeners show the documents of the store.
//   5. Sessions that clients have ended are unknown to the server. The test ends all others: those of
//      clients that disappear, and those of first requests that arrived twice.

#if Server
import DocumentStore
import FirestoreWire
import Harness

/// Runs on the caller's thread.
package struct ChannelHistory {
  package struct Result: Sendable {
    package var failure: String?
    package var counts = ChannelCounts()
    package var faults: [ProxyFaults.Kind: Int] = [:]
    package var writes = 0
    package var snapshots = 0
    package var resumes = 0
    package var sessions = 0
    package var restarts = 0
    package var lateResults = 0
    package var endings: [ChannelWriter.Ending: Int] = [:]
  }

  private static let secondsMax = 20.0
  private static let collectionPrefix = "history"
  private static let oneRestartedIn = 4

  private var served: ServedStore
  /// The server of this history alone, if it is drained.
  private let own: RestartedServer?
  private var restarts: ChannelRestarts?
  private let mayDisappear: Bool
  private let collection: String
  private let log = HistoryLog()
  private let loop = PollLoop()
  private let proxy: FaultyProxy
  private var random: SeededRandom
  private var writers: [ChannelWriter] = []
  private var watchers: [ChannelWatcher] = []
  private var result = Result()

  /// `name` is one of the collection, which no other history uses.
  package static func run(_ served: ServedStore, seed: UInt64, name: String) -> Result {
    do {
      var history = try ChannelHistory(served, seed: seed, name: name)
      defer { history.close() }
      do { try history.run() } catch {
        history.result.failure = "seed \(seed): \(error)\n\(history.log.text)"
      }
      return history.counted
    } catch {
      var result = Result()
      result.failure = "\(error)"
      return result
    }
  }

  private init(_ served: ServedStore, seed: UInt64, name: String) throws {
    random = SeededRandom(seed: seed)
    let isRestarted = random.oneIn(Self.oneRestartedIn)
    // A server waits in vain for clients that disappear.
    let isInVain = random.oneIn(4)
    mayDisappear = !isRestarted || isInVain
    let own = isRestarted ? try RestartedServer(drainSeconds: mayDisappear ? 1 : 10) : nil
    let present = try own?.served ?? served
    (self.own, self.served) = (own, present)
    collection = "\(Self.collectionPrefix)-\(name)"
    proxy = try FaultyProxy(
      loop: loop, upstreamPort: present.port, faults: ProxyFaults(seed: random.next(), oneIn: 2))
    let start = PollLoop.now
    let log = log
    proxy.onEvent = { log.note("\((PollLoop.now - start) / 1_000_000) ms: \($0)") }
  }

  private func close() {
    for writer in writers { for client in writer.clients { client.abandon() } }
    for watcher in watchers { watcher.abandon() }
    proxy.close()
    own?.close()
  }

  private mutating func run() throws {
    addClients()
    schedule()
    let (writers, watchers, restarts) = (writers, watchers, restarts)
    let isDone = loop.run(seconds: Self.secondsMax) {
      restarts?.failure != nil || writers.allSatisfy(\.isOver) && restarts?.isOver ?? true
    }
    if let failure = restarts?.failure { throw failure }
    guard isDone else { throw Violation("writers do not come to their end: \(writers.map(\.summary))") }
    if let own { served = try own.served }
    proxy.faults.oneIn = 0
    let documents = try served.documents(in: collection)
    for writer in writers { try writer.check(documents) }
    try converge()
    try checkEnds(watchers)
    if own != nil, let failure = try served.leftSessions() { throw Violation(failure) }
  }

  // MARK: Clients

  private mutating func addClients() {
    let database = ServedStore.database
    for number in 0..<1 + random.below(2) {
      let endings = ChannelWriter.Ending.allCases.filter { mayDisappear || !$0.isSilent }
      let ending = endings[random.below(endings.count)]
      result.endings[ending, default: 0] += 1
      // A drain comes in the middle of the writes.
      let count = own == nil ? 2 + random.below(7) : 10 + random.below(30)
      let writer = ChannelWriter(
        makeClient("Write", random.next()), database, collection: collection, name: "w\(number)",
        plan: (count, ending))
      var seeds = SeededRandom(seed: random.next())
      writer.makeClient = { [makeClient] in makeClient("Write", seeds.next()) }
      writers.append(writer)
    }
    let all = StructuredQuery(.collection(CollectionPath(unchecked: [collection])))
    for _ in 0..<1 + random.below(2) {
      var subjects = [ModelTarget.Subject.query(all)]
      if random.oneIn(2) {
        subjects.append(.documents([DocumentPath(unchecked: [collection, "w0"])]))
      }
      var seeds = SeededRandom(seed: random.next())
      let makeClient = makeClient
      watchers.append(ChannelWatcher(database, subjects) { makeClient("Listen", seeds.next()) })
    }
  }

  /// Makes clients with random habits.
  private var makeClient: (String, UInt64) -> WebChannelClient {
    { [loop, proxy, log] method, seed in
      var random = SeededRandom(seed: seed)
      var options = ChannelClientOptions(method: method, database: ServedStore.database.text)
      options.seed = random.next()
      options.polls = random.oneIn(3)
      options.detectsBuffering = random.oneIn(2)
      options.answerMilliseconds = 60 + random.below(100)
      options.silenceMilliseconds = 60 + random.below(100)
      options.retryMilliseconds = 1 + random.below(10)
      options.pollMilliseconds = random.oneIn(2) ? 20 + random.below(200) : nil
      options.attemptsMax = 200
      let client = WebChannelClient(options, port: proxy.port, loop: loop)
      client.onEvent = { log.note($0) }
      return client
    }
  }

  /// Schedules the actions of the history.
  private mutating func schedule() {
    for writer in writers { after(random.below(30)) { writer.begin() } }
    for watcher in watchers {
      after(random.below(20)) { watcher.begin() }
      if random.oneIn(2) { after(30 + random.below(80)) { watcher.client.dropBackChannel() } }
      if random.oneIn(3) { after(30 + random.below(80)) { watcher.comeBack() } }
    }
    let proxy = proxy
    if let own {
      let restarts = ChannelRestarts(own, proxy, seed: random.next()) { [collection] served in
        try served.documents(in: collection)
      }
      (restarts.writers, restarts.watchers, restarts.mayTakeAllTime) = (writers, watchers, mayDisappear)
      restarts.onEvent = proxy.onEvent
      restarts.begin(after: 20 + random.below(150))
      self.restarts = restarts
    }
    after(120) { proxy.faults.oneIn = 5 }
    after(300) { proxy.faults.oneIn = 0 }
  }

  private func after(_ milliseconds: Int, _ block: @escaping () -> Void) {
    loop.after(milliseconds: milliseconds, block)
  }

  // MARK: Checks

  /// Waits until all listeners show the documents of the store.
  private func converge() throws {
    var difference: String?
    var seen = -1
    let isDone = loop.run(seconds: Self.secondsMax) {
      // Nothing has changed since the last comparison.
      let snapshots = watchers.reduce(0) { $0 + $1.snapshots + ($1.violation == nil ? 0 : 1) }
      guard snapshots != seen else { return false }
      seen = snapshots
      guard let documents = try? served.documents(in: collection) else { return true }
      difference = watchers.compactMap { $0.difference(from: documents) }.first
      return difference == nil || watchers.contains { $0.violation != nil }
    }
    guard isDone, difference == nil else { throw Violation(difference ?? "the listeners do not converge") }
  }

  /// Ends the listeners, and looks for sessions that have no client any more.
  private mutating func checkEnds(_ watchers: [ChannelWatcher]) throws {
    for watcher in watchers { if random.oneIn(4) { watcher.abandon() } else { watcher.finish() } }
    let proxy = proxy
    let isDone = loop.run(seconds: Self.secondsMax) {
      watchers.allSatisfy(\.isOver) && proxy.hasSentDuplicates
    }
    guard isDone else { throw Violation("listeners do not come to their end") }
    let clients = writers.flatMap(\.clients) + watchers.flatMap(\.clients)
    for client in clients {
      guard let session = client.session else { continue }
      guard proxy.sessions[session] ?? proxy.earlierSessions[session] != nil else {
        throw Violation("\(session) is a session of no answer")
      }
    }
    let known = Set(clients.compactMap(\.session))
    let ended = Set(clients.filter(\.isTerminationAnswered).compactMap(\.session))
    for (session, path) in proxy.sessions.sorted(by: { $0.key < $1.key }) {
      if !ended.contains(session) {
        let status = try ask("TYPE=terminate&RID=1", session, path)
        // A session of which no client has heard ends by itself.
        guard status == 200 || status == 400 && !known.contains(session) else {
          throw Violation("the end of session \(session) has the status \(status)")
        }
      }
      try checkUnknown(session, path)
    }
    for (session, path) in proxy.earlierSessions.sorted(by: { $0.key < $1.key }) {
      try checkUnknown(session, path)
    }
  }

  private func checkUnknown(_ session: String, _ path: String) throws {
    let status = try ask("RID=rpc&AID=0&CI=1&TYPE=xmlhttp", session, path)
    guard status == 400 else {
      throw Violation("session \(session) has ended, and a back channel of it has the status \(status)")
    }
  }

  /// Sends a request without a body straight to the server, and returns its status.
  private func ask(_ parameters: String, _ session: String, _ path: String) throws -> Int {
    let connection = ChannelConnection(loop, port: served.port)
    defer { connection.close() }
    var status: Int?
    var isOver = false
    connection.send("GET", "\(path)?VER=8&SID=\(FormText.encoded(session))&\(parameters)&zx=1") { event in
      switch event {
      case .head(let found): status = found
      case .body: break
      case .end, .lost, .malformed: isOver = true
      }
    }
    guard loop.run(seconds: Self.secondsMax, until: { isOver }), let status else {
      throw Violation("a request straight to the server has no answer")
    }
    return status
  }

  private var counted: Result {
    var result = result
    for client in writers.flatMap(\.clients) + watchers.flatMap(\.clients) {
      result.counts.add(client.counts)
    }
    result.faults = proxy.faults.counts
    result.writes = writers.reduce(0) { $0 + $1.acknowledged }
    result.snapshots = watchers.reduce(0) { $0 + $1.snapshots }
    result.resumes = watchers.reduce(0) { $0 + $1.resumes }
    result.sessions = proxy.sessions.count + proxy.earlierSessions.count
    result.restarts = restarts?.restarts ?? 0
    result.lateResults = restarts?.lateResults ?? 0
    return result
  }
}
#endif

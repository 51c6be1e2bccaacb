// A client and a server without sockets, and a network between them that loses, repeats, delays and cuts.

#if Server
@testable import FirestoreRemote
import FirestoreService
import HTTPClient
import Harness
import OfflineSync

/// A history of one call. Times are in microseconds.
struct ChannelWorld {
  /// One in this many events has a fault; nil for none.
  struct Faults {
    var lostRequests: Int?
    var repeatedRequests: Int?
    var lostAnswers: Int?
    var cutAnswers: Int?
    var delayMax: Int64 = 50_000
    /// Whether answers are held back until they end.
    var buffers = false
  }

  private enum Step {
    case toServer(UInt64, WebRequest)
    case toClient(UInt64, WebEvent)
    case timer(UInt64)
    case lost(UInt64)
    case read(UInt64)
    case act(@Sendable (inout ChannelWorld) -> Void)
  }

  var client: ChannelClient
  var server = SimulatedServer()
  var random: SeededRandom
  var faults: Faults
  private(set) var now: Int64 = 0
  private var steps: [(time: Int64, order: Int, step: Step)] = []
  private var order = 0
  private(set) var delivered: [MessageEvent] = []
  private(set) var requestCount = 0
  private(set) var buffering = 0
  /// The messages that the call has sent.
  var answerCount = 0
  /// When the last event of each answer arrives, because an answer arrives in order.
  private var arrivals: [UInt64: Int64] = [:]
  private var held: [UInt64: [WebEvent]] = [:]
  /// Requests whose answers the client gets no more.
  private var broken: Set<UInt64> = []
  /// Requests that the network has repeated, whose answers go nowhere.
  private var repeated: UInt64 = 1 << 40

  init(method: String, seed: UInt64, settings: ChannelSettings = ChannelSettings(), faults: Faults) {
    random = SeededRandom(seed: seed)
    self.faults = faults
    client = ChannelClient(
      SessionAddress(method: method, database: "projects/p/databases/d", seed: seed), fields: [],
      polls: false, settings: settings)
  }

  var messages: [[UInt8]] {
    delivered.compactMap { if case .message(let message) = $0 { message } else { nil } }
  }

  // MARK: Time

  mutating func after(_ delay: Int64, _ body: @escaping @Sendable (inout ChannelWorld) -> Void) {
    schedule(.act(body), at: now + delay)
  }

  private mutating func schedule(_ step: Step, at time: Int64) {
    order += 1
    steps.append((time, order, step))
  }

  /// Runs until nothing is left to do, or until this time.
  mutating func run(until end: Int64) {
    while let next = steps.indices.min(by: {
      (steps[$0].time, steps[$0].order) < (steps[$1].time, steps[$1].order)
    }),
      steps[next].time <= end
    {
      let step = steps.remove(at: next)
      now = max(now, step.time)
      perform(server.passTime(to: nanoseconds))
      perform(step.step)
    }
    now = max(now, end)
    perform(server.passTime(to: nanoseconds))
  }

  private var nanoseconds: UInt64 { UInt64(now) * 1000 }

  private mutating func delay() -> Int64 { 1 + Int64(random.below(Int(faults.delayMax))) }

  private mutating func happens(_ oneIn: Int?) -> Bool { oneIn.map { random.oneIn($0) } ?? false }

  private mutating func perform(_ step: Step) {
    switch step {
    case .toServer(let number, let request):
      perform(
        server.take(
          number, method: request.method, target: request.target, body: request.body ?? [], at: nanoseconds))
    case .toClient(let number, let event): receive(.answer(request: number, event))
    case .timer(let timer): receive(.timer(timer))
    case .lost(let number): perform(server.lose(number, at: nanoseconds))
    case .read(let number): perform(server.noteRead(number, at: nanoseconds))
    case .act(let body): body(&self)
    }
  }

  // MARK: The client

  mutating func receive(_ event: ClientEvent) {
    let actions = client.receive(event)
    client.checkInvariants()
    for action in actions { perform(action) }
  }

  mutating func deliver(_ event: ServiceEvent, to session: String) {
    perform(server.deliver(event, to: session, at: nanoseconds))
  }

  private mutating func perform(_ action: ClientAction) {
    switch action {
    case .begin(let number, let request): begin(number, request)
    case .cancel(let number): abandon(number)
    case .wake(let timer, let delay): schedule(.timer(timer), at: now + delay)
    case .deliver(let event): delivered.append(event)
    case .noteBuffering: buffering += 1
    }
  }

  private mutating func begin(_ number: UInt64, _ request: WebRequest) {
    requestCount += 1
    if happens(faults.repeatedRequests) {
      repeated += 1
      broken.insert(repeated)
      schedule(.toServer(repeated, request), at: now + delay() * 4)
      schedule(.lost(repeated), at: now + delay() * 8)
    }
    guard !happens(faults.lostRequests) else { return fail(number) }
    schedule(.toServer(number, request), at: now + delay())
    if happens(faults.lostAnswers) { fail(number) }
  }

  /// The connection of a request is lost, which each side notices at its own time.
  private mutating func fail(_ number: UInt64) {
    guard broken.insert(number).inserted else { return }
    held[number] = nil
    schedule(.toClient(number, .ended(WebFailure("lost"))), at: now + delay() * 4)
    schedule(.lost(number), at: now + delay() * 4)
  }

  private mutating func abandon(_ number: UInt64) {
    guard broken.insert(number).inserted else { return }
    held[number] = nil
    schedule(.lost(number), at: now + delay())
  }

  // MARK: The server

  private mutating func perform(_ effects: [SimulatedServer.Effect]) {
    for effect in effects {
      switch effect {
      case .head(let number, let status): send(.head(status: status, fields: [:]), of: number)
      case .bytes(let number, let bytes):
        if !broken.contains(number), happens(faults.cutAnswers) {
          send(.bytes(Array(bytes.prefix(random.below(bytes.count)))), of: number)
          fail(number)
        }
        for piece in pieces(bytes) { send(.bytes(piece), of: number) }
      case .end(let number): send(.ended(nil), of: number)
      case .askWhenRead(let number): schedule(.read(number), at: now + delay())
      }
    }
  }

  private mutating func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    guard bytes.count > 1, random.oneIn(2) else { return [bytes] }
    let cut = 1 + random.below(bytes.count - 1)
    return [Array(bytes[..<cut]), Array(bytes[cut...])]
  }

  private mutating func send(_ event: WebEvent, of number: UInt64) {
    guard !broken.contains(number) else { return }
    var events = [event]
    if faults.buffers {
      events = (held.removeValue(forKey: number) ?? []) + events
      guard event == .ended(nil) else { return held[number] = events }
    }
    for event in events {
      let time = max(now + delay(), (arrivals[number] ?? 0) + 1)
      arrivals[number] = time
      schedule(.toClient(number, event), at: time)
    }
  }
}
#endif

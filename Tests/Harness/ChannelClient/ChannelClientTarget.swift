// Fuzzes the client of WebChannel: answers of a hostile server, in any order.
//
//   input := step*
//   step  := kind:u8 which:u8 text       text := size:u16 byte{size}, little-endian
//
// Whatever the answers are:
//   - a call has one end at most, and nothing follows it
//   - targets are ASCII without spaces, and texts of the server in them are encoded
//   - a call has one back channel, one forward request and a few ends of sessions at a time
//   - an answer that arrives byte by byte has the same effects as a whole one
//   - nothing is delivered after the program has closed the call

import ByteStore
import FirestoreRemote
import HTTPClient
import OfflineSync

struct ChannelClientTarget: FuzzTarget {
  static let name = "channelclient"
  let seeds = AnswerStep.seeds.map { $0.flatMap(\.written) }

  init(seed: UInt64) {}

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let steps = AnswerStep.all(in: input)
    let whole = try ClientFuzzRun(cutsAnswers: false).run(steps)
    let cut = try ClientFuzzRun(cutsAnswers: true).run(steps)
    guard whole == cut else { throw FuzzFinding("answers in pieces have other effects: \(whole) and \(cut)") }
    return whole.kinds
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    var steps = AnswerStep.all(in: input)
    guard !random.oneIn(8), !steps.isEmpty else { return nil }
    let another = AnswerStep.all(in: other).randomElement(using: &random) ?? AnswerStep(.timer)
    for _ in 0..<1 + random.below(3) where !steps.isEmpty {
      let place = random.below(steps.count)
      switch random.below(7) {
      case 0: steps.insert(another, at: place)
      case 1: steps.insert(steps[place], at: random.below(steps.count))
      case 2: steps.remove(at: place)
      case 3: steps.swapAt(place, random.below(steps.count))
      case 4: steps[place].text = another.text
      case 5: steps[place].which = UInt8(random.below(4))
      default: steps[place].mutateText(&random)
      }
    }
    return steps.flatMap(\.written)
  }
}

/// The effects of an input.
private struct ClientEffects: Equatable {
  var events: [MessageEvent] = []
  var requests: [WebRequest] = []

  /// The events without their contents.
  var kinds: String {
    var kinds = events.map { event in
      switch event {
      case .message: "message"
      case .closed(let error): error.map { "\($0.code)" } ?? "closed"
      }
    }
    kinds = kinds.enumerated().filter { $0.offset == 0 || kinds[$0.offset - 1] != $0.element }.map(\.element)
    return (kinds + [requests.count > 6 ? "many requests" : "\(requests.last?.method ?? "no request")"])
      .joined(separator: " ")
  }
}

/// One call over a scripted network.
private final class ClientFuzzRun {
  private struct FixedRandom: RandomSource {
    func randomID() -> RandomID { RandomID(high: 1, low: 2) }
  }

  private let network = ScriptedNetwork()
  private let events = Locked<[MessageEvent]>([])
  private let channel: any MessageChannel
  private let cutsAnswers: Bool

  init(cutsAnswers: Bool) {
    self.cutsAnswers = cutsAnswers
    let channels = WebChannels(
      network, database: "projects/p/databases/d", scheduler: network, random: FixedRandom())
    channel = channels.open("Listen", fields: [WebRequest.Field("authorization", "a")]) { [events] event in
      events.withLock { $0.append(event) }
    }
  }

  func run(_ steps: [AnswerStep]) throws(FuzzFinding) -> ClientEffects {
    send([UInt8](ascii: "{}"))
    for step in steps {
      perform(step)
      try check()
    }
    let effects = ClientEffects(events: events.withLock { $0 }, requests: network.requests)
    channel.close()
    network.runTasks()
    for exchange in network.open { network.deliver(.ended(nil), of: exchange) }
    for _ in 0..<100 where !network.passTime() { break }
    guard events.withLock({ $0 }) == effects.events else { throw FuzzFinding("an event follows the close") }
    return effects
  }

  private func send(_ message: [UInt8]) {
    channel.send(message)
    network.runTasks()
  }

  private func perform(_ step: AnswerStep) {
    let open = network.open
    switch step.kind {
    case .timer: network.passTime()
    case .send: send(step.text)
    case .head, .bytes, .end, .fail:
      guard !open.isEmpty else { return }
      let exchange = open[Int(step.which) % open.count]
      switch step.kind {
      case .head: network.deliver(step.head, of: exchange)
      case .bytes:
        let parts = cutsAnswers ? step.text.map { [$0] } : [step.text]
        for part in parts where !part.isEmpty { network.deliver(.bytes(part), of: exchange) }
      case .end: network.deliver(.ended(nil), of: exchange)
      default: network.deliver(.ended(WebFailure("lost")), of: exchange)
      }
    }
  }

  private func check() throws(FuzzFinding) {
    let all = events.withLock { $0 }
    let ends = all.filter { if case .closed = $0 { true } else { false } }.count
    guard ends == 0 || ends == 1 && all.last.map({ if case .closed = $0 { true } else { false } }) == true
    else {
      throw FuzzFinding("the end of the call is not the last event")
    }
    for request in network.requests.suffix(3) {
      guard request.target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw FuzzFinding("a target has other characters: \(request.target)")
      }
    }
    let open = network.open
    let back = open.filter { $0.request.method == "GET" }.count
    let ending = open.filter { $0.request.target.contains("TYPE=terminate") }.count
    guard back <= 1, ending <= 1, open.count - back - ending <= 1 else {
      throw FuzzFinding("the call has \(open.count) requests at a time")
    }
  }
}

extension [UInt8] {
  fileprivate init(ascii text: String) { self.init(text.utf8) }
}

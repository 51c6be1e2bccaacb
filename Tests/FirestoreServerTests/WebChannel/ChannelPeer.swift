// A client of WebChannel and a server on one thread. A test moves the time, and waits for events of the
// service.

import ByteStore
import FirestoreWire
import Foundation
import Harness
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

/// A server whose requests all come by one loop, which the test runs.
final class ChannelPeer {
  let loop = InlineLoop()
  let pool = WaitingPool()
  let budget: HeldMemory
  let server: TestServer
  /// Whether clients do not read the answers that begin from now on.
  var isUnread = false

  init(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, limits: HTTPLimits = HTTPLimits(),
    budget: HeldMemory = .unlimited, channels change2: (inout ChannelLimits) -> Void = { _ in }
  ) throws {
    var options = ChannelOptions()
    options.clock = loop.clock
    change2(&options.limits)
    self.budget = budget
    server = try TestServer(change, limits: limits, channels: options)
  }

  var metrics: ServerMetrics { server.journal.metrics }

  /// Begins a request, with its body.
  func begin(_ request: TestRequest) -> TestChannelExchange {
    let exchange = TestChannelExchange(request, self)
    run()
    return exchange
  }

  func begin(
    _ method: String, _ target: String, _ body: String = "", _ change: (inout TestRequest) -> Void = { _ in }
  ) -> TestChannelExchange {
    var request = TestRequest(method, target, body: body)
    change(&request)
    return begin(request)
  }

  /// Runs what is there.
  func run() {
    loop.run()
    while let block = pool.first() {
      loop.elsewhere(block)
      loop.run()
    }
  }

  /// Waits until something is true.
  func wait(until condition: () -> Bool) throws {
    run()
    while !condition() {
      guard pool.wait() else { throw NothingHappens() }
      run()
    }
  }

  private struct NothingHappens: Error {}

  func advance(seconds: Int) {
    loop.advance(seconds: seconds)
    run()
  }
}

/// A pool whose blocks a test runs. It can wait for a block.
final class WaitingPool: BlockPool {
  private let blocks = Locked<[@Sendable () -> Void]>([])
  private let added = Signal()

  func run(_ block: @escaping @Sendable () -> Void) {
    blocks.withLock { $0.append(block) }
    added.wake()
  }

  func first() -> (@Sendable () -> Void)? { blocks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  /// Waits for a block. Returns false if none comes for a long time.
  func wait() -> Bool {
    blocks.withLock(wokenBy: added, within: 10_000_000_000, when: { !$0.isEmpty }) { !$0.isEmpty }
  }
}

/// A request and its answer so far.
final class TestChannelExchange {
  let sink = RecordedSink()
  let response: HTTPResponse
  private let receiver: any HTTPBodyReceiver

  init(_ request: TestRequest, _ peer: ChannelPeer) {
    response = HTTPResponse(peer.loop, sink, queue: ResponseQueue(on: peer.pool), budget: peer.budget)
    response.queue.setPaused(peer.isUnread)
    receiver = peer.server.handler.begin(request.http, response)
    // Handlers hear of no part of a body that comes after the answer.
    guard !isEnded else { return }
    if !request.body.isEmpty { receiver.receive(request.body[...]) }
    if !isEnded { receiver.finish() }
  }

  var status: Int? {
    for case .begin(let status, _) in sink.events { return status }
    return nil
  }

  var fields: HTTPFields {
    for case .begin(_, let fields) in sink.events { return fields }
    return HTTPFields()
  }

  var text: String { String(decoding: sink.body, as: UTF8.self) }

  /// Whether this text is in the last bytes of the answer.
  func ends(near text: String) -> Bool {
    String(decoding: sink.body.suffix(1000), as: UTF8.self).contains(text)
  }

  var isEnded: Bool { sink.events.contains { if case .end = $0 { true } else { false } } }

  /// The client goes away.
  func cancel() {
    response.queue.close()
    receiver.cancel()
  }

  /// An array that a client has received.
  struct Array {
    let number: Int
    let content: Any
    /// The content in JSON, with its keys in order.
    var text: String {
      let data = try? JSONSerialization.data(
        withJSONObject: content, options: [.sortedKeys, .withoutEscapingSlashes])
      return String(decoding: data ?? Data(), as: UTF8.self)
    }
  }

  /// The arrays of the answer so far. Records an issue if a piece has another length than it says.
  var arrays: [Array] {
    var arrays: [Array] = []
    var rest = Substring(text)
    while let end = rest.firstIndex(of: "\n") {
      let units = rest[rest.index(after: end)...].utf16
      guard let length = Int(rest[..<end]), length <= units.count,
        let piece = String(units.prefix(length)),
        let parsed = try? JSONSerialization.jsonObject(with: Data(piece.utf8)) as? [[Any]]
      else {
        Issue.record("not a piece: \(rest.prefix(200))")
        return arrays
      }
      for array in parsed { arrays.append(Array(number: array[0] as? Int ?? -1, content: array[1])) }
      rest = rest[units.index(units.startIndex, offsetBy: length)...]
    }
    return arrays
  }
}

/// A session from its client's side.
struct ChannelClient {
  let peer: ChannelPeer
  let method: String
  let sid: String

  static func path(_ method: String) -> String { "/google.firestore.v1.Firestore/\(method)/channel" }

  /// A form with these requests.
  static func form(_ requests: [String], offset: Int = 0, headers: String? = nil) -> String {
    var parts: [String] = headers.map { ["headers=\(FormText.encoded($0))"] } ?? []
    parts += ["count=\(requests.count)", "ofs=\(offset)"]
    for (position, request) in requests.enumerated() {
      parts.append("req\(position)___data__=\(FormText.encoded(request))")
    }
    return parts.joined(separator: "&")
  }

  /// Sends the request that opens a session.
  static func open(
    _ peer: ChannelPeer, _ method: String, _ requests: [String], headers: String? = nil,
    _ change: (inout TestRequest) -> Void = { _ in }
  ) -> TestChannelExchange {
    let target =
      "\(path(method))?database=\(FormText.encoded(TestServer.database))&VER=8&CVER=22&RID=7&zx=abc&t=1"
    return peer.begin("POST", target, form(requests, headers: headers), change)
  }

  /// Opens a session.
  init(
    _ peer: ChannelPeer, _ method: String, _ requests: [String],
    change: (inout TestRequest) -> Void = { _ in }
  ) throws {
    let exchange = Self.open(peer, method, requests, change)
    let handshake = try #require(exchange.arrays.first?.content as? [Any])
    self.init(peer, method, sid: try #require(handshake[1] as? String))
  }

  init(_ peer: ChannelPeer, _ method: String, sid: String) {
    self.peer = peer
    self.method = method
    self.sid = sid
  }

  private func target(_ parameters: String) -> String {
    "\(Self.path(method))?VER=8&gsessionid=x&SID=\(sid)&\(parameters)&zx=abc&t=1"
  }

  func forward(_ requests: [String], offset: Int, acknowledged: Int = 0) -> TestChannelExchange {
    peer.begin("POST", target("RID=8&AID=\(acknowledged)"), Self.form(requests, offset: offset))
  }

  func back(_ acknowledged: Int, polls: Bool = false, timeout: Int? = nil) -> TestChannelExchange {
    let wait = timeout.map { "&TO=\($0)" } ?? ""
    return peer.begin(
      "GET", target("RID=rpc&AID=\(acknowledged)&CI=\(polls ? 1 : 0)&TYPE=xmlhttp" + wait))
  }

  func terminate(_ httpMethod: String = "POST") -> TestChannelExchange {
    peer.begin(httpMethod, target("RID=9&TYPE=terminate"))
  }

  // MARK: Requests of the service

  static let database = #""database":"\#(TestServer.database)""#

  static func watch(_ path: String, target: Int = 1) -> String {
    #"{\#(database),"addTarget":{"targetId":\#(target),"documents":{"documents":["\#(TestServer.documents)/\#(path)"]}}}"#
  }

  static func watchAll(_ collection: String, target: Int = 1) -> String {
    let query = #"{"from":[{"collectionId":"\#(collection)"}]}"#
    return
      #"{\#(database),"addTarget":{"targetId":\#(target),"query":{"parent":"\#(TestServer.documents)","structuredQuery":\#(query)}}}"#
  }

  static var openWrite: String { "{\(database)}" }

  /// A write that adds to a number, so that each time counts.
  static func increment(_ path: String) -> String {
    let name = #""\#(TestServer.documents)/\#(path)""#
    let transform = #"[{"fieldPath":"n","increment":{"integerValue":"1"}}]"#
    return
      #"{"streamToken":"AA==","writes":[{"update":{"name":\#(name),"fields":{}},"updateMask":{},"updateTransforms":\#(transform)}]}"#
  }

  static func update(_ path: String, text: String, exists: Bool? = nil) -> String {
    let name = #""\#(TestServer.documents)/\#(path)""#
    let guards = exists.map { #","currentDocument":{"exists":\#($0)}"# } ?? ""
    return
      #"{"streamToken":"AA==","writes":[{"update":{"name":\#(name),"fields":{"s":{"stringValue":"\#(text)"}}}\#(guards)}]}"#
  }
}

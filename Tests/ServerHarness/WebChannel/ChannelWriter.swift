// A writer by WebChannel whose writes are numbered. It has one session, and another one when a server that is
// drained or opened again has ended the session. Then it sends the writes again that have no result.
//
//   acknowledged ≤ the numbers that the store has = the counter of the session ≤ sent
//
// Each write sets a document of its own number, and increments the counter. A write that the server executes
// twice makes the counter higher than the number of documents.

#if Server
package import DocumentStore
package import FirestoreWire
package import Harness

/// Writes several requests at a time. Used on the loop.
package final class ChannelWriter {
  /// The way in which the session ends.
  package enum Ending: CaseIterable, Sendable {
    case terminates, closes, fails
    /// The client disappears, without or with writes that have no answer.
    case isAbandoned, isAbandonedEarly

    var isSilent: Bool { self == .isAbandoned || self == .isAbandonedEarly }
  }

  private static let windowMax = 3
  /// Characters that JSON escapes, and those whose length in UTF-16 and in UTF-8 differ.
  private static let text = #"\"é😀 \\ \u2028 ß\n漢字 \ud83d\ude00"#

  private static let storedText = "\"é😀 \\ \u{2028} ß\n漢字 😀"

  private static let comeBackMilliseconds = 20

  /// The client of the present session.
  package private(set) var client: WebChannelClient
  private var ended: [WebChannelClient] = []
  /// Makes the clients of further sessions.
  var makeClient: (() -> WebChannelClient)?
  /// Whether the server may end sessions.
  var mayLoseSessions = false
  private let database: DatabaseName
  private let collection: String
  private let name: String
  private let writes: Int
  private let ending: Ending
  private var token = ""
  private var hasHandshake = false
  private var hasEnded = false
  package private(set) var sent = 0
  package private(set) var acknowledged = 0
  private var lastCommit: StoredTimestamp?
  private var lastResponses = 0
  package private(set) var violation: String?

  package init(
    _ client: WebChannelClient, _ database: DatabaseName, collection: String, name: String,
    plan: (writes: Int, ending: Ending)
  ) {
    self.client = client
    self.database = database
    self.collection = collection
    self.name = name
    (writes, ending) = plan
  }

  package func begin() {
    client.onMessage = { [unowned self] in receive($0) }
    client.onEnd = { [unowned self] in end($0) }
    client.open([Array(#"{"database":"\#(database.text)"}"#.utf8)])
  }

  /// The clients of all sessions so far.
  package var clients: [WebChannelClient] { ended + [client] }

  /// Whether the client has disappeared.
  var isGone: Bool { ending.isSilent && client.end == .terminated }

  /// Whether nothing more can happen.
  package var isOver: Bool {
    guard violation == nil else { return true }
    guard client.end != nil else { return false }
    return ending.isSilent || client.isTerminationAnswered
  }

  /// The state in short, for the report of a failure.
  var summary: String {
    "\(name) in \(client.session ?? "no session"): \(acknowledged) of \(sent) of \(writes) writes, \(ending), "
      + "\(hasHandshake ? "begun" : "not begun")"
  }

  // MARK: Messages

  private func receive(_ message: [UInt8]) {
    do throws(WireError) {
      let response = try Wire.WriteResponse(json: message)
      try? take(response)
    } catch {
      fail("a message is no answer of Write: \(error)")
    }
  }

  private func take(_ response: Wire.WriteResponse) throws(WireError) {
    token = Base64Text.encoded(response.streamToken)
    guard !token.isEmpty else { return fail("an answer has no token") }
    if !hasHandshake {
      hasHandshake = true
      guard response.writeResults.isEmpty else { return fail("the first answer has results") }
      // Writes of an earlier session that have no result are sent again.
      sent = acknowledged
    } else if response.writeResults.isEmpty, hasEnded, ending == .closes {
      // A server may answer the request that ends the stream.
      lastResponses += 1
      if lastResponses > 1 { fail("the end of the stream is answered twice") }
      return
    } else {
      guard response.writeResults.count == 2 else {
        return fail("an answer has \(response.writeResults.count) results of 2 writes")
      }
      acknowledged += 1
      guard acknowledged <= sent else { return fail("there are more answers than writes") }
      guard let time = response.commitTime?.stored, lastCommit.map({ $0 < time }) ?? true else {
        return fail("a commit is not later than the one before it")
      }
      lastCommit = time
    }
    sendMore()
  }

  private func sendMore() {
    while sent < writes, sent - acknowledged < Self.windowMax, client.end == nil {
      sent += 1
      client.send(Array(request([setting(sent), increment]).utf8))
    }
    if ending == .isAbandonedEarly, acknowledged > writes / 2 { return client.abandon() }
    if acknowledged == writes, !hasEnded { finish() }
  }

  private func finish() {
    hasEnded = true
    switch ending {
    case .terminates: client.terminate()
    case .isAbandoned, .isAbandonedEarly: client.abandon()
    case .closes: client.send(Array(request([]).utf8))
    case .fails:
      let nothing = "\(database.documentsName)/\(collection)/nothing"
      client.send(
        Array(request([#"{"delete":"\#(nothing)","currentDocument":{"exists":true}}"#]).utf8))
    }
  }

  private func request(_ writes: [String]) -> String {
    #"{"streamToken":"\#(token)","writes":[\#(writes.joined(separator: ","))]}"#
  }

  private func setting(_ number: Int) -> String {
    #"{"update":{"name":"\#(documentName(number))","fields":{"n":{"integerValue":"\#(number)"},"#
      + #""t":{"stringValue":"\#(Self.text)"}}}}"#
  }

  private var increment: String {
    #"{"transform":{"document":"\#(database.documentsName)/\#(collection)/\#(name)","fieldTransforms":"#
      + #"[{"fieldPath":"n","increment":{"integerValue":"1"}}]}}"#
  }

  private func documentName(_ number: Int) -> String {
    "\(database.documentsName)/\(collection)/\(name)-\(number)"
  }

  // MARK: Ends

  private func end(_ end: ChannelClientEnd) {
    let isExpected =
      switch end {
      case .terminated: ending == .terminates || ending.isSilent
      case .closed: ending == .closes && hasEnded
      case .error(let status, _): ending == .fails && hasEnded && status == "NOT_FOUND"
      case .refused, .unreachable, .violation: false
      }
    if !isExpected, mayLoseSessions, end.isOfRestart { return comeBack() }
    if !isExpected { fail("\(ending) ends after \(acknowledged) of \(writes) writes: \(end)") }
  }

  private func comeBack() {
    guard let makeClient else { return fail("the session has ended, and there is no other one") }
    ended.append(client)
    client = makeClient()
    (token, hasHandshake, hasEnded, lastResponses) = ("", false, false, 0)
    let next = client
    // A page that was closed does not come back.
    next.loop.after(milliseconds: Self.comeBackMilliseconds) { [weak self] in
      if let self, client === next, next.end == nil { begin() }
    }
  }

  private func fail(_ text: String) {
    violation = violation ?? "writer \(name): \(text)"
    client.abandon()
  }

  /// Checks that the writer has the results of all its writes in the store, unless it has disappeared.
  func checkResults(_ documents: [StoredDocument]) throws(Violation) {
    let counter = counter(documents)
    guard !isGone, counter != acknowledged else { return }
    throw Violation(
      "the server has ended, and writer \(name) has results of \(acknowledged) of \(counter) writes: \(summary)"
    )
  }

  /// Takes the writes in the store for those that have a result, because the server did not wait for the
  /// writer.
  func adopt(_ documents: [StoredDocument]) { if !isGone { acknowledged = counter(documents) } }

  private func counter(_ documents: [StoredDocument]) -> Int {
    documents.first { $0.path.id == name }?.number ?? 0
  }

  /// Compares the documents of the collection with what the writer knows.
  package func check(_ documents: [StoredDocument]) throws(Violation) {
    if let violation { throw Violation(violation) }
    guard isOver else {
      throw Violation("writer \(name) is not at its end: \(acknowledged) of \(sent) writes are acknowledged")
    }
    let own = documents.filter { $0.path.id == name || $0.path.id.hasPrefix("\(name)-") }
    let numbers = Dictionary(uniqueKeysWithValues: own.map { ($0.path.id, $0.number ?? -1) })
    let counter = numbers[name, default: 0]
    // A client that disappears does not know which of its last writes have arrived.
    let range = ending == .isAbandonedEarly ? acknowledged...sent : sent...sent
    guard range.contains(counter), own.count == counter + (counter > 0 ? 1 : 0) else {
      throw Violation(
        "writer \(name) has sent \(sent) writes, of which \(acknowledged) are acknowledged, its counter is "
          + "\(counter), and it has \(own.count) documents")
    }
    for number in 1..<counter + 1 where numbers["\(name)-\(number)"] != number {
      throw Violation("write \(number) of \(sent) of writer \(name) is lost, and its counter is \(counter)")
    }
    for document in own where document.path.id != name && document.fields["t"] != .string(Self.storedText) {
      throw Violation("\(document.path) has another text: \(document.fields)")
    }
  }
}

/// Base64 with padding.
enum Base64Text {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

  static func encoded(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0..<4 {
        text.append(place <= group.count ? digits[word >> (18 - 6 * place) & 63] : "=")
      }
    }
    return text
  }
}
#endif

// Calls by REST: requests, answers of a scripted server, lost answers.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import HTTPClient
import Harness
import OfflineSync
import Testing

@Suite struct WebCallTests {
  private static let documents = "projects/shop/databases/(default)/documents"
  private static let time = #""2026-01-01T00:00:02Z""#
  private static let version = SnapshotVersion(microseconds: 1_767_225_602_000_000)

  private typealias Documents = Result<[RemoteDocument], RemoteError>
  private typealias Commit = Result<SnapshotVersion, RemoteError>
  private typealias Values = Result<[StoredValue], RemoteError>

  private func read(_ paths: String..., from peer: ScriptedRemote, as user: String? = nil) -> Events<
    Documents
  > {
    let answers = Events<Documents>()
    peer.remote.documents(at: paths.map { DocumentPath($0) }, as: user) { answers.add($0) }
    peer.play()
    return answers
  }

  private func commit(to peer: ScriptedRemote, as user: String? = nil) -> Events<Commit> {
    let answers = Events<Commit>()
    let set = Mutation.set(.init("rooms/a"), StoredMap([(name: "n", value: .integer(1))]))
    peer.remote.commit([set], as: user) { answers.add($0) }
    peer.play()
    // A server that registers no runs gets the commit by REST.
    peer.channels.all.last?.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    return answers
  }

  private func found(_ id: String) -> String {
    """
    {"found": {"name": "\(Self.documents)/rooms/\(id)", "fields": {}, "createTime": \(Self.time),
      "updateTime": \(Self.time)}, "readTime": \(Self.time)}
    """
  }

  private func missing(_ id: String) -> String {
    #"{"missing": "\#(Self.documents)/rooms/\#(id)", "readTime": \#(Self.time)}"#
  }

  // MARK: Documents

  @Test func documentsAreOneRequest() throws {
    let peer = ScriptedRemote { $0.apiKey = "k+1" }
    _ = read("rooms/a", "rooms/b c", from: peer)
    let request = try #require(peer.transport.all.first?.request)
    #expect(request.method == "POST")
    #expect(request.target == "/v1/\(Self.documents):batchGet?key=k%2B1")
    #expect(request.fields["content-type"] == "text/plain")
    #expect(request.fields["google-cloud-resource-prefix"] == "projects/shop/databases/(default)")
    let message = try Wire.BatchGetDocumentsRequest(json: request.body ?? [])
    #expect(message.documents == ["\(Self.documents)/rooms/a", "\(Self.documents)/rooms/b c"])
  }

  @Test func documentsComeInTheOrderOfTheRequest() throws {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", "rooms/b", from: peer)
    peer.transport.all[0].answer("[\(missing("b"))\n,\(found("a"))]")
    peer.play()
    let documents = try #require(answers.last).get()
    #expect(documents.map(\.path.description) == ["rooms/a", "rooms/b"])
    #expect(documents.map { $0.fields == nil } == [false, true])
    #expect(documents.map(\.version) == [Self.version, Self.version])
  }

  @Test(arguments: [
    "[]", "[", "", "{}", "nonsense", "[{},{},{}]]", "{}{}", #"[{"found": {"name": "rooms/a"}}]"#,
    #"[{"found": {"name": "\#(documents)/rooms/other"}}]"#,
  ])
  func anAnswerWithoutTheDocumentIsAnError(text: String) throws {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.transport.all[0].answer(text)
    peer.play()
    #expect(answers.all.count == 1)
    #expect(throws: RemoteError.self) { try #require(answers.last).get() }
  }

  @Test func aDocumentThatCannotBeReadIsOneWithoutContent() throws {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", "rooms/bad", from: peer)
    let bad = #"{"found": {"name": "\#(Self.documents)/rooms/bad", "fields": {"n": {"bytesValue": "?"}}}}"#
    peer.transport.all[0].answer("[\(found("a")), \(bad)]")
    peer.play()
    let documents = try #require(answers.last).get()
    #expect(documents.map { $0.unreadableReason == nil } == [true, false])
    #expect(documents[1].path == DocumentPath("rooms/bad"))
    #expect(documents[1].unreadableReason?.contains("no Base64") == true)
  }

  @Test func noDocumentsNeedNoRequest() throws {
    let peer = ScriptedRemote()
    let answers = read(from: peer)
    #expect(try #require(answers.last).get().isEmpty)
    #expect(peer.transport.all.isEmpty)
  }

  // MARK: Commits

  @Test func aCommitThatNoServerTakesIsRejectedWithItsSize() throws {
    let peer = ScriptedRemote()
    let answers = Events<Commit>()
    // The writes are within the limits of a client. In JSON, a control character takes six bytes.
    let text = StoredValue.string(String(repeating: "\u{1}", count: 1_000_000))
    let writes = ["rooms/a", "rooms/b"].map { Mutation.set(.init($0), StoredMap([(name: "b", value: text)])) }
    peer.remote.commit(writes, as: nil) { answers.add($0) }
    peer.play()
    peer.channels.all.last?.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    #expect(peer.transport.all.isEmpty && answers.all.count == 1)
    let error = try #require(answers.lastError)
    #expect(error.code == .invalidArgument)
    #expect(error.message.hasPrefix("The batch has 120"))
    #expect(error.message.hasSuffix(" bytes in JSON, and the remote takes 10550272."))
  }

  // MARK: Errors

  @Test func anErrorHasTheStatusOfItsBody() {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.transport.all[0].answer(
      status: 403, #"[{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}]"#)
    peer.play()
    #expect(answers.lastError == RemoteError(.permissionDenied, "no"))
  }

  @Test func anErrorAfterDocumentsIsAnError() {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.transport.all[0].answer(
      #"[\#(found("a")), {"error": {"code": 503, "message": "gone", "status": "UNAVAILABLE"}}]"#)
    peer.play()
    #expect(answers.lastError == RemoteError(.unavailable, "gone"))
  }

  /// A client rejects a write if the service permanently refuses to show it the documents of a conflict.
  @Test(arguments: [
    (502, RemoteError.Code.unavailable), (429, .resourceExhausted), (403, .unavailable), (404, .unavailable),
    (401, .unauthenticated),
  ])
  func aPageOfAProxyIsNoRefusal(status: Int, code: RemoteError.Code) {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.transport.all[0].answer(status: status, "<html>Bad</html>")
    peer.play()
    #expect(answers.lastError?.code == code)
  }

  @Test func aRefusedTokenIsReplacedOnce() {
    let peer = ScriptedRemote(hasCredentials: true)
    let answers = read("rooms/a", from: peer, as: "ann")
    peer.tokens.give("t1", to: 0)
    peer.play()
    let refusal = #"{"error": {"code": 401, "message": "old", "status": "UNAUTHENTICATED"}}"#
    peer.transport.all[0].answer(status: 401, refusal)
    peer.play()
    #expect(peer.tokens.all.map(\.request.summary) == ["ann -", "ann t1"])
    peer.tokens.give("t2", to: 1)
    peer.play()
    #expect(peer.transport.all.map { $0.request.fields["authorization"] } == ["Bearer t1", "Bearer t2"])
    #expect(answers.all.isEmpty)
    peer.transport.all[1].answer(status: 401, refusal)
    peer.play()
    #expect(answers.lastError == RemoteError(.unauthenticated, "old"))
    #expect(peer.transport.all.count == 2)
  }

  @Test func aCallWithoutATokenIsNotTriedAgain() {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.transport.all[0].answer(status: 401, "")
    peer.play()
    #expect(answers.lastError?.code == .unauthenticated)
  }

  // MARK: Back-pressure

  @Test(arguments: [200, 502]) func bytesAreTakenWhenTheyAreProcessed(status: Int) {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    let exchange = peer.transport.all[0]
    exchange.deliver(status: status, "[", "\(found("a"))", "]")
    #expect(exchange.takenPieces.isEmpty)
    peer.play()
    #expect(exchange.takenPieces == [1, found("a").utf8.count, 1])
    #expect(answers.all.isEmpty)
    exchange.end()
    peer.play()
    #expect(answers.all.count == 1)
  }

  // MARK: Time

  @Test func aCallEndsAfterItsTimeLimit() {
    let peer = ScriptedRemote()
    let answers = read("rooms/a", from: peer)
    peer.scheduler.play(for: 15_000_000)
    #expect(answers.lastError == .unanswered)
    #expect(peer.transport.all[0].isCancelled)
    peer.transport.all[0].answer("[\(found("a"))]")
    peer.play()
    #expect(answers.all.count == 1)
  }

  @Test func aCredentialThatNeverComesEndsTheCall() {
    let peer = ScriptedRemote(hasCredentials: true) { $0.callTimeLimit = 2 }
    let answers = commit(to: peer, as: "ann")
    peer.scheduler.play(for: 2_000_000)
    // Nothing was sent, so the caller may commit again.
    #expect(answers.lastError?.code == .unavailable)
  }

  // MARK: Commits

  @Test func aCommitHasItsTime() throws {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    let request = try #require(peer.transport.all.first?.request)
    #expect(request.target == "/v1/\(Self.documents):commit")
    #expect(try Wire.CommitRequest(json: request.body ?? []).writes.count == 1)
    peer.transport.all[0].answer(#"{"writeResults": [{}], "commitTime": \#(Self.time)}"#)
    peer.play()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func aCommitThatWasNotSentIsUnavailable() {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    peer.transport.all[0].fail(WebFailure("refused", isUnsent: true))
    peer.play()
    #expect(answers.lastError == RemoteError(.unavailable, "refused"))
  }

  @Test func theOutcomeOfALostAnswerIsUnknown() {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    peer.transport.all[0].fail(WebFailure("reset"))
    peer.play()
    let message = "The remote has not answered. The last attempt failed: reset"
    #expect(answers.lastError == RemoteError(.deadlineExceeded, message))
  }

  @Test func aCommitThatIsTooLongForAProxyHasFailed() {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    peer.transport.all[0].answer(status: 413, "<html>Request Entity Too Large</html>")
    peer.play()
    #expect(answers.lastError?.code == .invalidArgument)
    #expect(answers.lastError?.message.contains("client_max_body_size") == true)
  }

  @Test(arguments: ["", "{", "nonsense", #"{"commitTime": 7}"#])
  func theOutcomeOfAnAnswerThatCannotBeReadIsUnknown(text: String) {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    peer.transport.all[0].answer(text)
    peer.play()
    #expect(answers.lastError?.code == .deadlineExceeded)
  }

  @Test(arguments: [
    (409, "ABORTED", RemoteError.Code.aborted), (400, "FAILED_PRECONDITION", .failedPrecondition),
    (429, "RESOURCE_EXHAUSTED", .resourceExhausted), (404, "NOT_FOUND", .notFound),
    // The server may have applied the writes before.
    (503, "UNAVAILABLE", .deadlineExceeded), (500, "INTERNAL", .deadlineExceeded),
    (504, "DEADLINE_EXCEEDED", .deadlineExceeded),
  ])
  func aRefusalHasItsOwnCodeAndNotTheOneOfAnUnknownOutcome(
    status: Int, name: String, code: RemoteError.Code
  ) {
    let peer = ScriptedRemote()
    let answers = commit(to: peer)
    peer.transport.all[0].answer(
      status: status, #"{"error": {"code": \#(status), "message": "no", "status": "\#(name)"}}"#)
    peer.play()
    #expect(answers.lastError?.code == code)
  }

  // MARK: Aggregates

  @Test func aggregatesComeInOrder() throws {
    let peer = ScriptedRemote()
    let answers = Events<Values>()
    let rooms = StructuredQuery(.collection(try CollectionPath(["houses", "a:b", "rooms"])))
    peer.remote.aggregate([.count, .sum(try StoredFieldPath(["n"]))], over: rooms, as: nil) {
      answers.add($0)
    }
    peer.play()
    #expect(
      peer.transport.all[0].request.target
        == "/v1/\(Self.documents)/houses/a%3Ab:runAggregationQuery")
    peer.transport.all[0].answer(
      """
      [{"result": {"aggregateFields": {"field_2": {"doubleValue": 1.5}, "field_1": {"integerValue": "3"}}},
        "readTime": \(Self.time)}]
      """)
    peer.play()
    #expect(try #require(answers.last).get() == [.integer(3), .double(1.5)])
  }

  @Test(arguments: [
    "[]", "[{}]", #"[{"result": {"aggregateFields": {}}}]"#,
    #"[{"result": {"aggregateFields": {"field_1": {"stringValue": "3"}}}}]"#,
  ])
  func anAnswerWithoutItsAggregatesIsAnError(text: String) throws {
    let peer = ScriptedRemote()
    let answers = Events<Values>()
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    peer.remote.aggregate([.count], over: rooms, as: nil) { answers.add($0) }
    peer.play()
    peer.transport.all[0].answer(text)
    peer.play()
    #expect(answers.lastError?.code == .internal)
  }

  // MARK: Bodies

  @Test func messagesAreFoundWhereverTheBytesAreCut() throws {
    let text = #" [{"a":"]}\"\\"} ,{"b":[1,{"c":{}}]}] "#
    for cut in 0...text.utf8.count {
      var elements = JSONElements(bytesMax: 100)
      let bytes = Array(text.utf8)
      let messages = try elements.append(Array(bytes[..<cut])) + elements.append(Array(bytes[cut...]))
      #expect(
        messages.map { String(decoding: $0, as: UTF8.self) } == [#"{"a":"]}\"\\"}"#, #"{"b":[1,{"c":{}}]}"#])
      #expect(elements.isComplete)
    }
  }

  @Test func aMessageThatIsTooLongIsRefusedBeforeItIsKept() {
    var elements = JSONElements(bytesMax: 10)
    #expect(throws: RemoteError.self) { _ = try elements.append(Array(#"[{"a":"123456"#.utf8)) }
  }
}

extension Events {
  func lastFailure<Value>() -> RemoteError? where Event == Result<Value, RemoteError> {
    if case .failure(let error)? = last { error } else { nil }
  }
}

extension Events where Event == Result<[RemoteDocument], RemoteError> {
  var lastError: RemoteError? { lastFailure() }
}

extension Events where Event == Result<SnapshotVersion, RemoteError> {
  var lastError: RemoteError? { lastFailure() }
}

extension Events where Event == Result<[StoredValue], RemoteError> {
  var lastError: RemoteError? { lastFailure() }
}

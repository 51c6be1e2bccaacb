// Write streams: the handshake, batches with and without an identity, answers of a scripted server.

import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct BatchStreamTests {
  private let peer = ScriptedRemote()
  private let run = RunRegistration(queue: "q", run: RunID(5), token: [9])
  private let path = DocumentPath("rooms/a")
  private static let name = "projects/shop/databases/(default)/documents/rooms/a"
  private static let time = #""2026-01-01T00:00:02Z""#
  private static let version = SnapshotVersion(microseconds: 1_767_225_602_000_000)

  private func batch(
    _ number: Int64 = 1, guards: [DocumentPath: Precondition] = [:], precondition: Precondition = .none
  ) -> RemoteWrite {
    let set = Mutation.set(
      path, StoredMap([(name: "n", value: .integer(number))]), precondition: precondition)
    var write = RemoteWrite(
      id: WriteID(queue: "q", run: RunID(5), batch: BatchID(number)), mutations: [set],
      firstOpen: BatchID(1), guards: guards)
    write.registration = [8]
    return write
  }

  private struct Opened {
    let stream: any WriteStream
    let events: Events<WriteStreamEvent>
    let channel: ScriptedChannel
  }

  private func shaken(isDugout: Bool) throws -> Opened {
    let (stream, events) = peer.write()
    stream.handshake([1], runs: [run])
    peer.play()
    let channel = try #require(peer.channels.all.last)
    let registrations = #", "dugoutRegistrations": {"runs": [{"queue": "q", "run": "5", "token": "CA=="}]}"#
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="\#(isDugout ? registrations : "")}"#)
    peer.play()
    return Opened(stream: stream, events: events, channel: channel)
  }

  private func send(_ write: RemoteWrite, _ opened: Opened) {
    opened.stream.write(write)
    peer.play()
  }

  private func deliver(_ text: String, _ opened: Opened) {
    opened.channel.deliver(text)
    peer.play()
  }

  // MARK: Handshake

  @Test func theHandshakeHasRunsAndNoToken() throws {
    let opened = try shaken(isDugout: true)
    let request = try opened.channel.message(0, Wire.WriteRequest.self)
    #expect(request.database == "projects/shop/databases/(default)")
    #expect(request.streamToken.isEmpty && request.writes.isEmpty)
    let runs = try WriteLabels.message(Wire.RunRegistrations.self, in: request.labels, at: WriteLabels.runs)
    #expect(runs?.registrations == [run])
  }

  @Test func aServerOfDugoutRegistersTheRunsFirst() throws {
    let opened = try shaken(isDugout: true)
    #expect(opened.events.names == ["opened", "registered", "handshakeComplete"])
    guard case .registered(let tokens) = opened.events.all[1],
      case .handshakeComplete(let token) = opened.events.all[2]
    else { throw RemoteError(.internal) }
    #expect(tokens == [RunID(5): [8]])
    #expect(token == [1])
  }

  @Test func anotherServerRegistersNothing() throws {
    let opened = try shaken(isDugout: false)
    #expect(opened.events.names == ["opened", "handshakeComplete"])
  }

  // MARK: Batches

  @Test func aBatchHasAnIdentityForAServerOfDugoutOnly() throws {
    for isDugout in [true, false] {
      let opened = try shaken(isDugout: isDugout)
      send(
        batch(3, guards: [path: .exists(false), .init("rooms/b"): .updateTime(Self.version.stored)]), opened)
      let request = try opened.channel.message(1, Wire.WriteRequest.self)
      #expect(request.streamToken == [1])
      let other = "projects/shop/databases/(default)/documents/rooms/b"
      #expect(
        request.writes.map(\.operation?.verify) == (isDugout ? [Self.name, other, nil] : [other, nil]))
      let isAbsent = Precondition.exists(false).wire
      #expect(request.writes.last?.currentDocument == (isDugout ? nil : isAbsent))
      let identity = try WriteLabels.message(
        Wire.WriteIdentity.self, in: request.labels, at: WriteLabels.write)
      #expect(request.labels.isEmpty == !isDugout)
      #expect(identity?.batch == (isDugout ? 3 : nil))
      #expect(identity?.guardCount == (isDugout ? 2 : nil))
      #expect(identity?.registration == (isDugout ? [8] : nil))
    }
  }

  @Test func theLastTokenGoesWithEachBatch() throws {
    let opened = try shaken(isDugout: false)
    send(batch(1), opened)
    deliver(#"{"streamToken": "Ag==", "writeResults": [{}], "commitTime": \#(Self.time)}"#, opened)
    send(batch(2), opened)
    #expect(try opened.channel.message(2, Wire.WriteRequest.self).streamToken == [2])
  }

  @Test func theAnswerOfAServerOfDugoutHasTheVersionBefore() throws {
    let opened = try shaken(isDugout: true)
    send(batch(guards: [path: .exists(false)]), opened)
    deliver(
      """
      {"streamToken": "Ag==", "writeResults": [{"updateTime": \(Self.time), "dugoutVersionBefore": "7"}],
       "commitTime": \(Self.time)}
      """, opened)
    guard case .answered(let version, let results, let token)? = opened.events.last else {
      throw RemoteError(.internal, "\(opened.events.all)")
    }
    #expect(version == Self.version && token == [2])
    #expect(
      results
        == [WriteResult(version: Self.version, versionBefore: SnapshotVersion(microseconds: 7))])
  }

  /// A server may refuse to verify a document that the batch writes.
  @Test(arguments: [
    (Precondition.none, Precondition.exists(false), Precondition.exists(false)),
    (.none, .exists(true), .exists(true)), (.exists(true), .exists(true), .exists(true)),
    (.exists(false), .exists(true), .exists(false)),
  ])
  func aGuardOfAWrittenDocumentIsItsPrecondition(
    own: Precondition, held: Precondition, sent: Precondition
  ) throws {
    let opened = try shaken(isDugout: false)
    var write = batch(guards: [path: held], precondition: own)
    write.mutations.append(.delete(path))
    send(write, opened)
    let writes = try opened.channel.message(1, Wire.WriteRequest.self).writes
    #expect(writes.map(\.operation?.verify) == [nil, nil])
    #expect(writes.map(\.currentDocument) == [sent.wire, nil])
  }

  @Test func aGuardThatContradictsTheWriteIsVerified() throws {
    let opened = try shaken(isDugout: false)
    send(batch(guards: [path: .exists(false)], precondition: .exists(true)), opened)
    let writes = try opened.channel.message(1, Wire.WriteRequest.self).writes
    #expect(writes.map(\.operation?.verify) == [Self.name, nil])
    #expect(writes.map(\.currentDocument) == [.exists(false), .exists(true)].map(\Precondition.wire))
  }

  @Test func aGuardReplacesTheConditionThatADocumentExists() throws {
    let opened = try shaken(isDugout: false)
    let version = Precondition.updateTime(Self.version.stored)
    send(batch(guards: [path: version], precondition: .exists(true)), opened)
    #expect(
      try opened.channel.message(1, Wire.WriteRequest.self).writes.map(\.currentDocument) == [version.wire])
  }

  /// A resolver has dropped writes. Servers refuse to verify nothing.
  @Test(arguments: [true, false]) func droppedWritesAreNotSent(isDugout: Bool) throws {
    let opened = try shaken(isDugout: isDugout)
    var write = batch()
    let other = DocumentPath("rooms/b")
    write.mutations = [.verify(other, .none)] + write.mutations + [.verify(other, .none)]
    send(write, opened)
    let writes = try opened.channel.message(1, Wire.WriteRequest.self).writes
    #expect(writes.map(\.operation?.verify) == [nil])
    deliver(
      #"{"writeResults": [{"updateTime": \#(Self.time)}], "commitTime": \#(Self.time)}"#, opened)
    guard case .answered(_, let results, _)? = opened.events.last else {
      throw RemoteError(.internal, "\(opened.events.all)")
    }
    let none = WriteResult(version: .none)
    #expect(results == [none, WriteResult(version: Self.version), none])
  }

  @Test func resultsOfGuardsAreLeftOut() throws {
    let opened = try shaken(isDugout: false)
    send(batch(guards: [DocumentPath("rooms/b"): .exists(false)]), opened)
    deliver(
      #"{"writeResults": [{}, {"updateTime": \#(Self.time), "transformResults": [{"nullValue": null}]}]}"#,
      opened)
    guard case .answered(_, let results, _)? = opened.events.last else {
      throw RemoteError(.internal, "\(opened.events.all)")
    }
    #expect(results == [WriteResult(version: Self.version, transformResults: [.null])])
  }

  // MARK: Guards that do not hold

  @Test func aServerOfDugoutSaysThatABatchIsOvertaken() throws {
    let opened = try shaken(isDugout: true)
    send(batch(guards: [path: .exists(false)]), opened)
    deliver(#"{"streamToken": "Ag==", "dugoutOvertaken": true}"#, opened)
    opened.channel.end(RemoteError(.failedPrecondition))
    peer.play()
    #expect(opened.events.names.last == "overtaken")
    #expect(opened.channel.isClosed)
  }

  @Test(arguments: [
    (Precondition.exists(false), Precondition.none, RemoteError.Code.alreadyExists, true),
    (.updateTime(StoredTimestamp(microseconds: 1)!), .none, .failedPrecondition, true),
    (.exists(true), .none, .notFound, true),
    // The code may be that of the write.
    (.exists(false), .exists(false), .alreadyExists, false),
    (
      .updateTime(StoredTimestamp(microseconds: 1)!), .updateTime(StoredTimestamp(microseconds: 2)!),
      .failedPrecondition, false
    ),
    (.exists(false), .none, .failedPrecondition, false),
    (.exists(false), .none, .permissionDenied, false),
    (.exists(false), .none, .unavailable, false),
  ])
  func anotherServerSaysItByItsCode(
    held: Precondition, own: Precondition, code: RemoteError.Code, isOvertaken: Bool
  ) throws {
    let opened = try shaken(isDugout: false)
    send(batch(guards: [path: held], precondition: own), opened)
    opened.channel.end(RemoteError(code, "no"))
    peer.play()
    #expect(opened.events.names.last == (isOvertaken ? "overtaken" : "closed"))
    if !isOvertaken { #expect(opened.events.lastError == RemoteError(code, "no")) }
  }

  @Test func aBatchWithoutGuardsIsNotOvertaken() throws {
    let opened = try shaken(isDugout: false)
    send(batch(), opened)
    send(batch(2, guards: [path: .exists(false)]), opened)
    opened.channel.end(RemoteError(.alreadyExists))
    peer.play()
    #expect(opened.events.names.last == "closed")
  }

  // MARK: Answers that break rules

  @Test func anAnswerThatNobodyAskedForEndsTheStream() throws {
    let opened = try shaken(isDugout: true)
    deliver(#"{"streamToken": "Ag==", "writeResults": [{}]}"#, opened)
    #expect(opened.events.lastError?.code == .internal)
    #expect(opened.channel.isClosed)
  }

  @Test func anAnswerBeforeTheHandshakeEndsTheStream() throws {
    let events = peer.write().events
    try #require(peer.channels.all.last).deliver("{}")
    peer.play()
    #expect(events.lastError?.code == .internal)
  }

  @Test(arguments: [
    #"{"writeResults": []}"#, #"{"writeResults": [{}, {}]}"#, "nonsense",
    #"{"writeResults": [{"updateTime": "yesterday"}, {}]}"#, #"{"writeResults": [{}], "streamToken": "?"}"#,
  ])
  func anAnswerThatDoesNotFitEndsTheStreamAndRejectsNoBatch(text: String) throws {
    let opened = try shaken(isDugout: true)
    send(batch(), opened)
    deliver(text, opened)
    #expect(opened.events.names.last == "closed")
    #expect(opened.events.lastError?.code == .internal)
  }

  /// The server has accepted the batch. If the client sent it again, it would get the same answer for ever.
  @Test(arguments: [
    #""writeResults": [{"updateTime": "yesterday"}], "commitTime": \#(time)"#,
    #""writeResults": [{"transformResults": [{"laterValue": 1}]}], "commitTime": \#(time)"#,
    #""writeResults": [{}], "commitTime": "30000-01-01T00:00:00Z""#,
  ])
  func anAnswerWhoseResultsCannotBeReadIsAnAcceptance(text: String) throws {
    let opened = try shaken(isDugout: true)
    send(batch(), opened)
    send(batch(2), opened)
    deliver(#"{"streamToken": "Ag==", \#(text)}"#, opened)
    guard case .answered(let version, let results, let token)? = opened.events.last else {
      throw RemoteError(.internal, "\(opened.events.names)")
    }
    #expect(version == .none && results.count == 1 && token == [2])
    #expect(results[0].transformResults.isEmpty && results[0].versionBefore != nil)
    deliver(#"{"streamToken": "Aw==", "writeResults": [{}], "commitTime": \#(Self.time)}"#, opened)
    guard case .answered(let next, _, _)? = opened.events.last else { throw RemoteError(.internal) }
    #expect(next == Self.version)
  }

  @Test func aBatchThatCannotBeSentIsRefusedAfterTheBatchesBefore() throws {
    let opened = try shaken(isDugout: true)
    // No client can send a document with given times.
    var placed = batch(2)
    let time = Self.version.stored
    placed.mutations = [
      .place(StoredDocument(path: path, createTime: time, updateTime: time, fields: StoredMap()))
    ]
    send(batch(1), opened)
    send(placed, opened)
    send(batch(3), opened)
    #expect(opened.channel.count == 2)
    #expect(!opened.channel.isClosed)
    deliver(#"{"streamToken": "Ag==", "writeResults": [{}], "commitTime": \#(Self.time)}"#, opened)
    #expect(opened.events.names.suffix(2) == ["answered", "closed"])
    #expect(opened.events.lastError?.code == .internal)
  }

  @Test func aBatchThatNoServerTakesIsRejectedWithItsSize() throws {
    let opened = try shaken(isDugout: true)
    // The batch is within the limits of a client. In JSON, a control character takes six bytes.
    var write = batch()
    let text = StoredValue.string(String(repeating: "\u{1}", count: 1_000_000))
    write.mutations = [.set(path, StoredMap([(name: "b", value: text)]))]
    write.mutations += [.set(DocumentPath("rooms/b"), StoredMap([(name: "b", value: text)]))]
    send(write, opened)
    #expect(opened.channel.count == 1)
    #expect(opened.channel.isClosed)
    let error = try #require(opened.events.lastError)
    #expect(error.code == .invalidArgument)
    #expect(error.message.hasPrefix("The batch has 120"))
    #expect(error.message.hasSuffix(" bytes in JSON, and the remote takes 10550272."))
  }
}

extension Events where Event == WriteStreamEvent {
  var names: [String] {
    all.map { event in
      switch event {
      case .opened: "opened"
      case .registered: "registered"
      case .handshakeComplete: "handshakeComplete"
      case .answered: "answered"
      case .overtaken: "overtaken"
      case .closed: "closed"
      }
    }
  }

  var lastError: RemoteError? { if case .closed(let error)? = last { error } else { nil } }
}

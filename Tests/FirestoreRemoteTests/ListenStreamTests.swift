// Watch streams: requests of the client, messages of a scripted server.

import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct ListenStreamTests {
  private let peer = ScriptedRemote()
  private static let documents = "projects/shop/databases/(default)/documents"

  private func query(_ id: Int32 = 2) throws -> WatchTarget {
    WatchTarget(TargetID(id), StructuredQuery(.collection(try CollectionPath(["rooms"]))))
  }

  /// A stream with a target, and its channel.
  private func opened() throws -> (events: Events<WatchStreamEvent>, channel: ScriptedChannel) {
    let (stream, events) = peer.watch()
    stream.watch(try query())
    peer.play()
    return (events, try #require(peer.channels.all.last))
  }

  private func deliver(_ text: String, to channel: ScriptedChannel) {
    channel.deliver(text)
    peer.play()
  }

  // MARK: Requests

  @Test func theStreamIsOpenAtOnce() throws {
    let events = Events<WatchStreamEvent>()
    _ = peer.remote.openWatchStream(as: nil) { events.add($0) }
    #expect(events.all.isEmpty)
    peer.play()
    guard case .opened? = events.last else { throw RemoteError(.internal) }
  }

  @Test func aTargetIsARequestWithTheDatabase() throws {
    let channel = try opened().channel
    #expect(channel.method == "Listen")
    let request = try channel.message(0, Wire.ListenRequest.self)
    #expect(request.database == "projects/shop/databases/(default)")
    #expect(request.targetChange?.addTarget?.targetId == 2)
    #expect(request.labels.isEmpty)
  }

  @Test func requestsHaveTheFieldsOfTheWebSDK() throws {
    let peer = ScriptedRemote {
      $0.database = "eu"
      $0.project = "a shop"
      $0.appID = "1:2:web:3"
    }
    _ = peer.watch()
    let fields = try #require(peer.channels.all.first?.fields)
    #expect(fields["google-cloud-resource-prefix"] == "projects/a%20shop/databases/eu")
    #expect(fields["x-goog-request-params"] == "project_id=a%20shop&database_id=eu")
    #expect(fields["x-firebase-gmpid"] == "1:2:web:3")
    #expect(fields["x-goog-api-client"]?.contains("dugout") == true)
    #expect(fields["authorization"] == nil)
    let standard = ScriptedRemote()
    _ = standard.watch()
    #expect(standard.channels.all.first?.fields["x-goog-request-params"] == "project_id=shop")
  }

  @Test(arguments: [
    (WatchTarget.Purpose.limboResolution, "limbo-document"),
    (.existenceFilterMismatch, "existence-filter-mismatch"),
    (.existenceFilterMismatchBloom, "existence-filter-mismatch-bloom"),
  ])
  func theReasonOfATargetIsALabel(purpose: WatchTarget.Purpose, label: String) throws {
    let stream = peer.watch().stream
    var target = try query()
    target.purpose = purpose
    stream.watch(target)
    peer.play()
    let request = try #require(peer.channels.all.last).message(0, Wire.ListenRequest.self)
    #expect(request.labels["goog-listen-tags"] == label)
  }

  @Test func aTokenGoesWithTheNumberOfDocuments() throws {
    let stream = peer.watch().stream
    var target = try query()
    target.resumeToken = [1, 2, 3]
    target.expectedCount = 7
    stream.watch(target)
    peer.play()
    let request = try #require(peer.channels.all.last).message(0, Wire.ListenRequest.self)
    #expect(request.targetChange?.addTarget?.resumeType?.resumeToken == [1, 2, 3])
    #expect(request.targetChange?.addTarget?.expectedCount == 7)
  }

  @Test func aTargetIsRemovedByItsID() throws {
    let (stream, _) = peer.watch()
    stream.watch(try query(4))
    stream.unwatch(TargetID(4))
    peer.play()
    let request = try #require(peer.channels.all.last).message(1, Wire.ListenRequest.self)
    #expect(request.targetChange?.removeTarget == 4)
  }

  @Test func aQueryThatFirestoreDoesNotHaveConcernsItsTargetOnly() throws {
    let (stream, events) = peer.watch()
    var target = try query(6)
    var order = OrderBy(try StoredFieldPath(["n"]))
    order.missing = .asNull
    target.query = try target.query.ordered(by: order)
    stream.watch(target)
    peer.play()
    guard case .changed(.target(.removed, let ids, _, let cause?), .none)? = events.last else {
      throw RemoteError(.internal, "\(events.all)")
    }
    #expect(ids == [TargetID(6)])
    #expect(cause.code == .unimplemented)
    #expect(!events.isClosed)
  }

  // MARK: Messages

  @Test func aDocumentComesWithItsTargets() throws {
    let (events, channel) = try opened()
    deliver(
      """
      {"documentChange": {"document": {"name": "\(Self.documents)/rooms/a", "fields": {"n": {"integerValue": "1"}},
        "createTime": "2026-01-01T00:00:01Z", "updateTime": "2026-01-01T00:00:02.000003Z"}, "targetIds": [2]}}
      """, to: channel)
    let time = SnapshotVersion(microseconds: 1_767_225_602_000_003)
    let expected = RemoteDocument(
      .init("rooms/a"), StoredMap([(name: "n", value: .integer(1))]), version: time,
      createTime: SnapshotVersion(microseconds: 1_767_225_601_000_000))
    #expect(events.lastChange == .document(.init("rooms/a"), expected, updated: [TargetID(2)], removed: []))
  }

  /// The document has less than 1 MiB in the database, and more than 11 MiB in JSON.
  @Test func aDocumentOfManyBooleansIsRead() throws {
    let (events, channel) = try opened()
    let count = 500_000
    let values = Array(repeating: #"{"booleanValue":true}"#, count: count).joined(separator: ",")
    deliver(
      """
      {"documentChange": {"document": {"name": "\(Self.documents)/rooms/a", "updateTime": "2026-01-01T00:00:02Z",
        "fields": {"b": {"arrayValue": {"values": [\(values)]}}}}, "targetIds": [2]}}
      """, to: channel)
    guard case .document(_, let document?, _, _)? = events.lastChange,
      case .array(let elements)? = document.fields?["b"]
    else { throw RemoteError(.internal, "\(String(describing: events.lastError))") }
    #expect(elements.count == count)
  }

  @Test func aSnapshotOfAllTargetsHasAVersion() throws {
    let (events, channel) = try opened()
    deliver(
      #"{"targetChange": {"resumeToken": "AQI=", "readTime": "2026-01-01T00:00:02Z"}}"#, to: channel)
    guard case .changed(let change, let version)? = events.last else { throw RemoteError(.internal) }
    #expect(change == .target(.noChange, [], resumeToken: [1, 2]))
    #expect(version == SnapshotVersion(microseconds: 1_767_225_602_000_000))
  }

  @Test func aRefusedTargetHasACause() throws {
    let (events, channel) = try opened()
    deliver(
      #"{"targetChange": {"targetChangeType": "REMOVE", "targetIds": [2], "cause": {"code": 7, "message": "no"}}}"#,
      to: channel)
    #expect(
      events.lastChange
        == .target(.removed, [TargetID(2)], cause: RemoteError(.permissionDenied, "no")))
  }

  private static let badFields = [
    (#"{"n": {"laterValue": 1}}"#, "type unset"), (#"{"n": {"bytesValue": "?"}}"#, "no Base64"),
    (#"{"n": {"timestampValue": "30000-01-01T00:00:00Z"}}"#, "no time"),
    (#"{"n": {"pipelineValue": {"stages": []}}}"#, "PIPELINE_VALUE"),
    (#"{"__n__": {"nullValue": null}}"#, "reserved"),
    ("[]", "there is no object"),
  ]

  @Test(arguments: badFields)
  func aDocumentThatCannotBeReadIsRefusedAndTheStreamStays(fields: String, reason: String) throws {
    let (events, channel) = try opened()
    deliver(
      """
      {"documentChange": {"document": {"fields": \(fields), "name": "\(Self.documents)/rooms/bad",
        "updateTime": "2026-01-01T00:00:02Z"}, "targetIds": [2, 4], "removedTargetIds": [6]}}
      """, to: channel)
    guard case .document(let path, let document?, let updated, let removed)? = events.lastChange else {
      throw RemoteError(.internal, "\(String(describing: events.last))")
    }
    #expect(path == DocumentPath("rooms/bad") && document.path == path && document.fields == nil)
    #expect(try #require(document.unreadableReason).contains(reason), "\(document)")
    #expect(updated == [TargetID(2), TargetID(4)] && removed == [TargetID(6)])
    #expect(throws: RemoteRefusal.self) { try document.admitted(at: path) }
    deliver(#"{"targetChange": {"resumeToken": "AQI="}}"#, to: channel)
    #expect(events.lastChange == .target(.noChange, [], resumeToken: [1, 2]))
  }

  @Test(arguments: ["documentDelete", "documentRemove"])
  func aDocumentThatIsGoneNeedsNoTime(kind: String) throws {
    let (events, channel) = try opened()
    deliver(
      """
      {"\(kind)": {"document": "\(Self.documents)/rooms/a", "readTime": "30000-01-01T00:00:00Z",
        "removedTargetIds": [2]}}
      """, to: channel)
    #expect(
      events.lastChange
        == .document(DocumentPath("rooms/a"), nil, updated: [], removed: [TargetID(2)]))
  }

  @Test func anotherMessageThatCannotBeReadIsALossOfData() throws {
    let (events, channel) = try opened()
    deliver(#"{"targetChange": {"readTime": "30000-01-01T00:00:00Z"}}"#, to: channel)
    #expect(events.lastError?.code == .dataLoss && channel.isClosed)
    #expect(events.lastError?.message.contains("read_time") == true, "\(events.all)")
  }

  @Test(arguments: [
    "", "[]", "{", #"{"documentChange": {}}"#, #"{"documentChange": {"document": {"name": "rooms/a"}}}"#,
    #"{"documentDelete": {"document": "projects/other/databases/(default)/documents/rooms/a"}}"#,
    #"{"targetChange": {"targetIds": [4294967296]}}"#, "\u{0}",
    #"{"documentChange": {"document": {"fields": "# + String(repeating: #"{"a":"#, count: 300),
  ])
  func aMessageThatCannotBeReadEndsTheStream(text: String) throws {
    let (events, channel) = try opened()
    deliver(text, to: channel)
    #expect(events.isClosed)
    #expect(events.lastError != nil)
    #expect(channel.isClosed)
    let count = events.all.count
    deliver(#"{"targetChange": {}}"#, to: channel)
    #expect(events.all.count == count)
  }

  @Test func unknownMessagesAreSkipped() throws {
    let (events, channel) = try opened()
    deliver(#"{"later": {"x": [1]}}"#, to: channel)
    #expect(events.all.count == 1)
  }

  @Test func theEndOfTheCallIsTheEndOfTheStream() throws {
    let (events, channel) = try opened()
    channel.end(RemoteError(.unavailable, "gone"))
    peer.play()
    #expect(events.lastError == RemoteError(.unavailable, "gone"))
  }

  @Test func aClosedStreamDeliversNothing() throws {
    let (stream, events) = peer.watch()
    stream.close()
    peer.play()
    let channel = try #require(peer.channels.all.last)
    #expect(channel.isClosed)
    deliver(#"{"targetChange": {}}"#, to: channel)
    channel.end(nil)
    peer.play()
    #expect(events.all.count == 1)
  }
}

extension Events where Event == WatchStreamEvent {
  var lastChange: WatchChange? { if case .changed(let change, _)? = last { change } else { nil } }
}

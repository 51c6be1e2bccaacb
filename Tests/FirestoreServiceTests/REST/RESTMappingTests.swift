// Requests of the REST API.

import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct RESTMappingTests {
  private static let documents = "/v1/projects/p/databases/(default)/documents"

  private func map(_ method: String, _ target: String, _ body: String = "") throws -> RESTCall {
    try RESTCall(RESTRequest(method: method, target: Self.documents + target, body: Array(body.utf8)))
  }

  private func message<Message: WireMessage>(
    _ call: RESTCall, as type: Message.Type = Message.self
  ) throws -> Message {
    try Message(json: call.request)
  }

  @Test func verbsTakeTheDatabaseFromThePath() throws {
    let call = try map("POST", ":commit", #" {"database":"other","writes":[{"delete":"x"}]} "#)
    #expect(call.method == "Commit" && !call.isStream)
    let request = try message(call, as: Wire.CommitRequest.self)
    #expect(request.database == TestService.database && request.writes.count == 1)
    for (verb, method, isStream) in [
      ("batchGet", "BatchGetDocuments", true), ("batchWrite", "BatchWrite", false),
      ("beginTransaction", "BeginTransaction", false), ("rollback", "Rollback", false),
    ] {
      let call = try map("POST", ":\(verb)")
      #expect(call.method == method && call.isStream == isStream)
      #expect(call.request == Array(#"{"database":"projects/p/databases/(default)"}"#.utf8))
    }
  }

  @Test func verbsOfAParentTakeTheParentFromThePath() throws {
    for place in ["", "/rooms/a"] {
      for (verb, method) in [
        ("runQuery", "RunQuery"), ("runAggregationQuery", "RunAggregationQuery"),
        ("partitionQuery", "PartitionQuery"),
        ("listCollectionIds", "ListCollectionIds"),
      ] {
        let call = try map("POST", "\(place):\(verb)", "{}")
        #expect(call.method == method)
        #expect(try message(call, as: Wire.RunQueryRequest.self).parent == TestService.documents + place)
      }
    }
  }

  @Test func documentsAreReadAndListed() throws {
    let get = try map("GET", "/rooms/a?mask.fieldPaths=n&mask.field_paths=m.b&readTime=2020-01-01T00:00:00Z")
    let document = try message(get, as: Wire.GetDocumentRequest.self)
    #expect(get.method == "GetDocument" && document.name == TestService.name("rooms/a"))
    #expect(document.mask?.fieldPaths == ["n", "m.b"])
    #expect(document.consistencySelector == .readTime(Wire.Timestamp(seconds: 1_577_836_800, nanos: 0)))
    let list = try map(
      "GET", "/rooms/a/chats?pageSize=3&pageToken=t&orderBy=n%20desc&showMissing=true&transaction=AQ%3D%3D")
    let request = try message(list, as: Wire.ListDocumentsRequest.self)
    #expect(list.method == "ListDocuments" && request.parent == TestService.name("rooms/a"))
    #expect(request.collectionId == "chats" && request.pageSize == 3 && request.pageToken == "t")
    #expect(request.orderBy == "n desc" && request.showMissing)
    #expect(request.consistencySelector == .transaction([1]))
  }

  @Test func documentsAreWritten() throws {
    let create = try map("POST", "/rooms?documentId=a%20b", #"{"fields":{"n":{"integerValue":"1"}}}"#)
    let created = try message(create, as: Wire.CreateDocumentRequest.self)
    #expect(create.method == "CreateDocument" && created.collectionId == "rooms")
    #expect(created.documentId == "a b" && created.document?.fields == StoredMap([("n", .integer(1))]))
    let patch = try map(
      "PATCH", "/rooms/a?updateMask.fieldPaths=n&mask.fieldPaths=m&currentDocument.exists=true",
      #"{"name":"other","fields":{"n":{"nullValue":null}}}"#)
    let updated = try message(patch, as: Wire.UpdateDocumentRequest.self)
    #expect(patch.method == "UpdateDocument" && updated.document?.name == TestService.name("rooms/a"))
    #expect(updated.updateMask?.fieldPaths == ["n"] && updated.mask?.fieldPaths == ["m"])
    #expect(updated.currentDocument?.conditionType == .exists(true))
    let delete = try map("DELETE", "/rooms/a?currentDocument.updateTime=2020-01-01T00:00:00Z")
    let deleted = try message(delete, as: Wire.DeleteDocumentRequest.self)
    #expect(delete.method == "DeleteDocument" && deleted.name == TestService.name("rooms/a"))
    #expect(deleted.currentDocument?.conditionType != nil)
  }

  @Test func aColonCanBePartOfAnId() throws {
    #expect(
      try message(map("GET", "/rooms/a:b"), as: Wire.GetDocumentRequest.self).name
        == TestService.name("rooms/a:b"))
  }

  @Test func onlyPOSTHasVerbs() throws {
    for name in ["rooms/x:commit", "rooms/x:runQuery", "rooms/:foo"] {
      let get = try message(map("GET", "/\(name)"), as: Wire.GetDocumentRequest.self)
      #expect(get.name == TestService.name(name))
      let patch = try message(map("PATCH", "/\(name)"), as: Wire.UpdateDocumentRequest.self)
      #expect(patch.document?.name == TestService.name(name))
      let delete = try message(map("DELETE", "/\(name)"), as: Wire.DeleteDocumentRequest.self)
      #expect(delete.name == TestService.name(name))
    }
    let create = try message(map("POST", "/rooms%3Acommit"), as: Wire.CreateDocumentRequest.self)
    #expect(create.collectionId == "rooms:commit")
  }

  @Test func aBodyIsReadWithinTheLimitsOfTheService() throws {
    var limits = WireLimits()
    limits.bytesMax = 20
    let request = RESTRequest(
      method: "POST", target: Self.documents + ":commit", body: Array(#"{"writes":[],"transaction":""}"#.utf8)
    )
    #expect(throws: Never.self) { try RESTCall(request) }
    #expect(throws: RemoteError.self) { try RESTCall(request, limits: limits) }
  }

  @Test func otherRequestsAreNotFound() throws {
    for (method, target) in [
      ("PUT", "/rooms/a"), ("GET", ":commit"), ("POST", ":foo"), ("POST", "/rooms/a"), ("GET", ""),
      ("POST", "/rooms/a:commit"),
    ] {
      #expect(throws: RemoteError(.notFound, "Not Found"), "\(method) \(target)") { try map(method, target) }
    }
    for target in ["", "/", "/v1", "/v2/projects", "/v1/", "*"] {
      #expect(throws: RemoteError.self) { try RESTCall(RESTRequest(method: "GET", target: target)) }
    }
  }

  @Test func aBodyCannotReachOutOfItsPlace() throws {
    for body in [#"{"fields":{}},"mask":{}"#, "[]", "{bad", "}", "{", "1", #"{} {}"#, "\u{FEFF}{}"] {
      #expect(throws: RemoteError.self, "\(body)") { try map("POST", "/rooms", body) }
      #expect(throws: RemoteError.self, "\(body)") { try map("PATCH", "/rooms/a", body) }
      #expect(throws: RemoteError.self, "\(body)") { try map("POST", ":commit", body) }
    }
    let call = try map("POST", #":commit"#, "  \n")
    #expect(try message(call, as: Wire.CommitRequest.self).database == TestService.database)
  }

  @Test func invalidParametersAreRefused() throws {
    for target in [
      "/rooms?pageSize=x", "/rooms?pageSize=99999999999", "/rooms?showMissing=maybe", "/rooms/%zz",
      "/rooms/%",
      "/rooms/%FF",
    ] {
      let code = try? RESTCall(RESTRequest(method: "GET", target: Self.documents + target))
      #expect(code == nil, "\(target)")
    }
    #expect(throws: RemoteError.self) { try map("DELETE", "/rooms/a?currentDocument.exists=perhaps") }
  }
}

// ListDocuments and ListCollectionIds.

import Authority
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct ListTests {
  private func list(_ collection: String, below parent: String = "", pageSize: Int32 = 0)
    -> Wire.ListDocumentsRequest
  {
    var request = Wire.ListDocumentsRequest()
    request.parent = parent.isEmpty ? TestService.documents : TestService.name(parent)
    request.collectionId = collection
    request.pageSize = pageSize
    return request
  }

  /// The ids of each page.
  private func pages(_ service: TestService, _ request: Wire.ListDocumentsRequest) throws -> [[String]] {
    var request = request
    var pages: [[String]] = []
    repeat {
      let page = try service.answer("ListDocuments", request, as: Wire.ListDocumentsResponse.self)
      pages.append(page.documents.map { String($0.name.split(separator: "/").last ?? "") })
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    return pages
  }

  @Test(arguments: WireFormat.allCases)
  func documentsComeInPages(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 3, "rooms/b": 1, "rooms/c": 2, "rooms/d": 2, "rooms/e": 0, "other/a": 1])
    #expect(try pages(service, list("rooms")) == [["a", "b", "c", "d", "e"]])
    #expect(try pages(service, list("rooms", pageSize: 2)) == [["a", "b"], ["c", "d"], ["e"]])
    #expect(try pages(service, list("none")) == [[]])
    var ordered = list("rooms", pageSize: 2)
    ordered.orderBy = "n desc, __name__ asc"
    #expect(try pages(service, ordered) == [["a", "c"], ["d", "b"], ["e"]])
    ordered.orderBy = "n"
    #expect(try pages(service, ordered) == [["e", "b"], ["c", "d"], ["a"]])
  }

  @Test func aTokenContinuesBehindADeletedDocument() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1, "rooms/b": 2, "rooms/c": 3])
    var request = list("rooms", pageSize: 2)
    let first = try service.answer("ListDocuments", request, as: Wire.ListDocumentsResponse.self)
    try service.commit([TestService.delete("rooms/b"), TestService.set("rooms/a2", 1)])
    request.pageToken = first.nextPageToken
    #expect(try pages(service, request) == [["c"]])
  }

  @Test func aTokenOfLargeValuesFitsIntoAURL() throws {
    let service = try TestService()
    let long = String(repeating: "x", count: 200_000)
    for (id, end) in [("a", "3"), ("b", "1"), ("c", "2"), ("d", "2")] {
      try service.commit([TestService.set("rooms/\(id)", [("s", .string(long + end)), ("n", .integer(1))])])
    }
    var request = list("rooms", pageSize: 1)
    request.orderBy = "n,s desc"
    #expect(try pages(service, request) == [["a"], ["d"], ["c"], ["b"]])
    let first = try service.answer("ListDocuments", request, as: Wire.ListDocumentsResponse.self)
    #expect(first.nextPageToken.utf8.count <= 8192)
    request.pageToken = first.nextPageToken
    try service.set(["rooms/a": 1])
    #expect(try service.error("ListDocuments", request) == nil)
    try service.commit([TestService.delete("rooms/a")])
    #expect(try service.error("ListDocuments", request)?.code == .failedPrecondition)
  }

  @Test func theTokenOfAnotherListIsRefused() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1, "rooms/b": 2, "other/a": 1, "other/b": 1])
    let token = try service.answer(
      "ListDocuments", list("rooms", pageSize: 1), as: Wire.ListDocumentsResponse.self
    ).nextPageToken
    let invalid = RemoteError(.invalidArgument, "invalid page token")
    for token in [token, "xyz", "%", "CgA", String(repeating: "A", count: 5000)] {
      var request = list("other", pageSize: 1)
      request.pageToken = token
      #expect(try service.error("ListDocuments", request) == invalid)
    }
    var request = list("rooms", pageSize: 1)
    request.pageToken = token
    request.orderBy = "n"
    #expect(try service.error("ListDocuments", request) == invalid)
    var ids = Wire.ListCollectionIdsRequest()
    ids.parent = TestService.documents
    ids.pageToken = token
    #expect(try service.error("ListCollectionIds", ids) == invalid)
  }

  @Test(arguments: WireFormat.allCases)
  func missingParentsAreListedByName(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set([
      "rooms/a/chats/b/lines/c": 1, "rooms/b": 2, "rooms/c/chats/d": 3, "rooms/d": 4, "rooms/d/chats/x": 5,
      "roomsy/z": 1,
    ])
    #expect(try pages(service, list("rooms")) == [["b", "d"]])
    var request = list("rooms")
    request.showMissing = true
    #expect(try pages(service, request) == [["a", "b", "c", "d"]])
    request.pageSize = 1
    #expect(try pages(service, request) == [["a"], ["b"], ["c"], ["d"]])
    let page = try service.answer("ListDocuments", request, as: Wire.ListDocumentsResponse.self)
    #expect(page.documents.first?.createTime == nil && page.documents.first?.fields.isEmpty == true)
    var nested = list("chats", below: "rooms/a")
    nested.showMissing = true
    #expect(try pages(service, nested) == [["b"]])
    request.orderBy = "n"
    #expect(
      try service.error("ListDocuments", request)
        == RemoteError(.invalidArgument, "cannot specify an order when show_missing is true"))
  }

  /// The rules are about documents that exist, and a name of another one shows what is below it.
  @Test func missingParentsAreNotListedIfThereAreRules() throws {
    let service = try TestService()
    try service.set(["rooms/a/chats/b": 1, "rooms/b": 2])
    var rules = service.authority.rules
    rules.mayRead = { _, _ in nil }
    service.authority.setRules(rules)
    #expect(try pages(service, list("rooms")) == [["b"]])
    var request = list("rooms")
    request.showMissing = true
    #expect(
      try service.error("ListDocuments", request)
        == RemoteError(.permissionDenied, "Metadata operations require admin authentication."))
  }

  @Test func namesAreThoseOfTheReadTime() throws {
    let service = try TestService()
    _ = try service.get("rooms/a")
    let before = try #require(try service.commit([TestService.set("rooms/a/chats/b", 1)]).commitTime)
    let between = try #require(
      try service.commit([
        TestService.delete("rooms/a/chats/b"), TestService.set("rooms/b/pins/c", 2),
        TestService.set("users/u", 2),
      ]).commitTime)
    try service.commit([TestService.delete("rooms/b/pins/c"), TestService.delete("users/u")])
    var request = list("rooms")
    request.showMissing = true
    func collections(below parent: String, at time: Wire.Timestamp?) throws -> [String] {
      var request = Wire.ListCollectionIdsRequest()
      request.parent = parent.isEmpty ? TestService.documents : TestService.name(parent)
      request.readTime = time
      return try service.answer("ListCollectionIds", request, as: Wire.ListCollectionIdsResponse.self)
        .collectionIds
    }
    let expected: [(Wire.Timestamp?, [String], [String], [String])] = [
      (before, ["a"], ["rooms"], []), (between, ["b"], ["rooms", "users"], ["pins"]), (nil, [], [], []),
    ]
    for (time, documents, roots, below) in expected {
      request.consistencySelector = time.map { .readTime($0) }
      #expect(try pages(service, request) == [documents])
      #expect(try collections(below: "", at: time) == roots)
      #expect(try collections(below: "rooms/b", at: time) == below)
    }
    let open = try service.begin(.readOnly(Wire.TransactionOptions.ReadOnly()))
    try service.set(["rooms/z/chats/y": 1])
    request.consistencySelector = .transaction(open)
    #expect(try pages(service, request) == [[]])
  }

  @Test func invalidListsAreRefused() throws {
    let service = try TestService()
    #expect(
      try service.error("ListDocuments", list("rooms", pageSize: -1))
        == RemoteError(.invalidArgument, "Page size must be nonnegative."))
    for order in [
      "n up", ",", "n,", "n, ", "n-m", " n  desc,m", "n ASC ", "n desc asc", "n asc desc,m", "``", "`n`m",
      "a..b",
      " ",
    ] {
      var request = list("rooms")
      request.orderBy = order
      #expect(
        try service.error("ListDocuments", request)
          == RemoteError(.invalidArgument, "Invalid order by clause \"\(order)\"."))
    }
    #expect(try service.error("ListDocuments", list("a/b"))?.code == .invalidArgument)
    #expect(try service.error("ListDocuments", list(""))?.code == .unimplemented)
  }

  @Test(arguments: ["n  DESC , n2", "n\tdesc,__name__", "n Desc,`a,b` asc", "n desc,\n m"])
  func spacesSurroundThePartsOfAnOrder(_ order: String) throws {
    let service = try TestService()
    for (id, number) in [("a", Int64(1)), ("b", 2)] {
      let fields = ["n", "n2", "a,b", "m"].map { ($0, StoredValue.integer(number)) }
      try service.commit([TestService.set("rooms/\(id)", fields)])
    }
    var request = list("rooms", pageSize: 1)
    request.orderBy = order
    #expect(try pages(service, request) == [["b"], ["a"]])
  }

  @Test(arguments: [
    ("__a__", "Invalid reserved name in field path __a__"),
    ("n,a.__id7__ desc", "Invalid reserved name in field path __id7__"),
    (String(repeating: "a", count: 1501), "property path is longer than 1500 bytes."),
    ("n,m,n desc", "order by clause cannot contain duplicate fields n"),
    ("__name__,n", "order by clause cannot contain more fields after the key"),
    (
      (0...100).map { "a\($0)" }.joined(separator: ","),
      "The query may not have more than 100 filters + sort orders + ancestor total. Currently there are 0 "
        + "filters, 101 sort orders, and no ancestor filter."
    ),
  ])
  func theOrderOfAListIsOneOfAQuery(_ order: String, _ message: String) throws {
    let service = try TestService()
    var request = list("rooms")
    request.orderBy = order
    #expect(try service.error("ListDocuments", request) == RemoteError(.invalidArgument, message))
  }

  @Test func aLongOrderIsRefusedBeforeItIsRead() throws {
    let service = try TestService()
    var request = list("rooms", below: "users/a")
    request.orderBy = (0..<50_000).map { "a\($0)" }.joined(separator: ",") + ",`x,y`"
    let error = RemoteError(
      .invalidArgument,
      "The query may not have more than 100 filters + sort orders + ancestor total. Currently there are 0 "
        + "filters, 50001 sort orders, and 2 names of ancestors.")
    #expect(try service.error("ListDocuments", request) == error)
  }

  @Test func aListIsReadInATransaction() throws {
    let service = try TestService()
    let transaction = try service.begin()
    var request = list("rooms")
    request.consistencySelector = .transaction(transaction)
    #expect(try pages(service, request) == [[]])
    try service.set(["rooms/a": 1])
    let commit = TestService.commitRequest([TestService.set("other/a", 1)], in: transaction)
    #expect(try service.error("Commit", commit)?.code == .aborted)
  }

  @Test(arguments: WireFormat.allCases)
  func collectionsAreListedWithThoseOfMissingParents(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a/chats/b/lines/c": 1, "users/u": 1, "rooms/a/pictures/p": 1])
    func ids(_ parent: String, pageSize: Int32 = 0) throws -> [[String]] {
      var request = Wire.ListCollectionIdsRequest()
      request.parent = parent.isEmpty ? TestService.documents : TestService.name(parent)
      request.pageSize = pageSize
      var pages: [[String]] = []
      repeat {
        let page = try service.answer("ListCollectionIds", request, as: Wire.ListCollectionIdsResponse.self)
        pages.append(page.collectionIds)
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      return pages
    }
    #expect(try ids("") == [["rooms", "users"]])
    #expect(try ids("", pageSize: 1) == [["rooms"], ["users"]])
    #expect(try ids("rooms/a") == [["chats", "pictures"]])
    #expect(try ids("rooms/a/chats/b") == [["lines"]])
    #expect(try ids("users/u") == [[]])
    var negative = Wire.ListCollectionIdsRequest()
    negative.parent = TestService.documents
    negative.pageSize = -1
    #expect(
      try service.error("ListCollectionIds", negative)
        == RemoteError(.invalidArgument, "page_size must be greater than or equal to zero."))
  }
}

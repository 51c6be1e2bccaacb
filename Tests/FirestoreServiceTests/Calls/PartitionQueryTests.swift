// Cursors that split the documents of a collection group.

import Authority
import DocumentStore
import FirestoreService
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct PartitionQueryTests {
  private static func request(
    _ count: Int64, _ change: (inout Wire.PartitionQueryRequest) -> Void = { _ in }
  ) -> Wire.PartitionQueryRequest {
    var request = Wire.PartitionQueryRequest()
    request.parent = TestService.documents
    request.partitionCount = count
    request.structuredQuery = query()
    change(&request)
    return request
  }

  private static func query() -> Wire.StructuredQuery {
    var query = Wire.StructuredQuery()
    query.from = [Wire.StructuredQuery.CollectionSelector()]
    query.from[0].collectionId = "rooms"
    query.from[0].allDescendants = true
    var order = Wire.StructuredQuery.Order()
    order.field = Wire.StructuredQuery.FieldReference()
    order.field?.fieldPath = "__name__"
    query.orderBy = [order]
    return query
  }

  private func pages(
    _ service: TestService, _ request: Wire.PartitionQueryRequest
  ) throws -> [[Wire.Cursor]] {
    var request = request
    var pages: [[Wire.Cursor]] = []
    repeat {
      let page = try service.answer("PartitionQuery", request, as: Wire.PartitionQueryResponse.self)
      pages.append(page.partitions)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    return pages
  }

  /// The names of the documents between two cursors.
  private func names(
    _ service: TestService, from start: Wire.Cursor?, to end: Wire.Cursor?
  ) throws -> [String] {
    var request = Wire.RunQueryRequest()
    request.parent = TestService.documents
    request.structuredQuery = Self.query()
    request.structuredQuery?.startAt = start
    request.structuredQuery?.endAt = end
    return try service.answers("RunQuery", request, as: Wire.RunQueryResponse.self)
      .compactMap { $0.document?.name }
  }

  /// Random documents of several groups at several depths, some of them with very long names.
  private func documents(_ random: inout SeededRandom) -> Set<String> {
    let long = String(repeating: "x", count: 900)
    var paths: Set<String> = []
    for _ in 0..<random.below(400) {
      let id = random.oneIn(40) ? "\(long)\(random.below(1000))" : "\(random.below(1000))"
      switch random.below(5) {
      case 0: paths.insert("users/\(random.below(20))/rooms/\(id)")
      case 1: paths.insert("rooms/\(random.below(20))/rooms/\(id)")
      case 2: paths.insert("roomsBeside/\(id)")
      default: paths.insert("rooms/\(id)")
      }
    }
    return paths
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func theRangesAreDisjointCompleteAndBalanced(_ seed: UInt64) throws {
    let service = try TestService(seed % 2 == 0 ? .protobuf : .json)
    var random = SeededRandom(seed: seed)
    let paths = documents(&random)
    for path in paths { try service.set([path: 1]) }
    for path in paths where random.oneIn(4) { try service.commit([TestService.delete(path)]) }
    let all = try names(service, from: nil, to: nil)
    for count in [1, 2, 7, 30, 5000] as [Int64] {
      let cursors = try pages(service, Self.request(count)).flatMap { $0 }
      #expect(cursors.count == min(Int(count), max(0, all.count - 1)))
      #expect(cursors.allSatisfy { $0.before && $0.values.count == 1 })
      let bounds = [nil] + cursors.map(Optional.some) + [nil]
      let parts = try zip(bounds, bounds.dropFirst()).map { try names(service, from: $0, to: $1) }
      #expect(parts.flatMap { $0 } == all)
      // Long names are not in order in the index, so they are left out of the balance.
      guard !all.contains(where: { $0.utf8.count > 800 }) else { continue }
      let sizes = parts.map(\.count)
      #expect(sizes.max() ?? 0 <= 2 * max(1, sizes.min() ?? 0))
    }
  }

  @Test(arguments: WireFormat.allCases) func cursorsComeInPages(_ format: WireFormat) throws {
    let service = try TestService(format)
    for number in 0..<50 { try service.set(["rooms/\(number)": 1]) }
    let whole = try pages(service, Self.request(10))
    #expect(whole.map(\.count) == [10])
    #expect(
      try pages(service, Self.request(10) { $0.pageSize = 4 }) == [
        Array(whole[0][..<4]), Array(whole[0][4..<8]), Array(whole[0][8...]),
      ])
    // Commits between two pages change nothing.
    var request = Self.request(10) { $0.pageSize = 4 }
    let first = try service.answer("PartitionQuery", request, as: Wire.PartitionQueryResponse.self)
    for number in 0..<50 { try service.set(["rooms/9\(number)": 1]) }
    request.pageToken = first.nextPageToken
    #expect(try pages(service, request).flatMap { $0 } == Array(whole[0][4...]))
    // The token of another list is refused.
    request.partitionCount = 11
    #expect(
      try service.error("PartitionQuery", request) == RemoteError(.invalidArgument, "invalid page token"))
  }

  @Test func aReadTimeIsExact() throws {
    let service = try TestService()
    for number in 10..<30 { try service.set(["rooms/\(number)": 1]) }
    let time = try service.commit([TestService.set("rooms/30", 1)]).commitTime
    let before = try pages(service, Self.request(5))
    for number in 31..<90 { try service.set(["rooms/\(number)": 1]) }
    #expect(try pages(service, Self.request(5)) != before)
    #expect(try pages(service, Self.request(5) { $0.readTime = time }) == before)
  }

  @Test func fewDocumentsHaveFewParts() throws {
    let service = try TestService()
    #expect(try pages(service, Self.request(3)) == [[]])
    try service.set(["rooms/a": 1])
    #expect(try pages(service, Self.request(3)) == [[]])
    try service.set(["rooms/b": 1])
    #expect(try pages(service, Self.request(3)).flatMap { $0 }.count == 1)
    #expect(try pages(service, Self.request(.max)).flatMap { $0 }.count == 1)
  }

  @Test func otherQueriesAreRefused() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    let requests: [Wire.PartitionQueryRequest] = [
      Self.request(0), Self.request(-1), Self.request(.min),
      Self.request(3) { $0.pageSize = -1 },
      Self.request(3) { $0.pageToken = "x" },
      Self.request(3) { $0.structuredQuery = nil },
      Self.request(3) { $0.parent = TestService.name("rooms/a") },
      Self.request(3) { $0.structuredQuery?.from[0].allDescendants = false },
      Self.request(3) { $0.structuredQuery?.orderBy = [] },
      Self.request(3) { $0.structuredQuery?.orderBy[0].direction = .descending },
      Self.request(3) { $0.structuredQuery?.orderBy[0].field?.fieldPath = "n" },
      Self.request(3) { $0.structuredQuery?.limit = 3 },
      Self.request(3) { $0.structuredQuery?.offset = 3 },
      Self.request(3) {
        $0.structuredQuery?.startAt = Wire.Cursor()
        $0.structuredQuery?.startAt?.before = true
      },
    ]
    for request in requests {
      #expect(try service.error("PartitionQuery", request)?.code == .invalidArgument, "\(request)")
    }
  }

  @Test func theRulesDecideAboutTheQuery() throws {
    let service = try TestService()
    var rules = service.authority.rules
    rules.mayRead = { _, query in
      query.scope == .collectionGroup("rooms") ? RemoteError(.permissionDenied, "No.") : nil
    }
    service.authority.setRules(rules)
    #expect(
      try service.error("PartitionQuery", Self.request(3)) == RemoteError(.permissionDenied, "No."))
  }
}

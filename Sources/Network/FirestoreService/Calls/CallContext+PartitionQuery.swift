// PartitionQuery: cursors that split a collection group into parts of about equal size.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Further cursors are left out, so that a request has a bounded cost.
  private static let partitionsMax = 10_000

  func partitionQuery(
    _ request: Wire.PartitionQueryRequest
  ) throws(RemoteError) -> Wire.PartitionQueryResponse {
    let database = try database(ofParent: request.parent)
    let (group, query) = try partitioned(request, in: database)
    guard request.partitionCount > 0 else {
      throw RemoteError(.invalidArgument, "partition_count must be greater than zero.")
    }
    guard request.pageSize >= 0 else {
      throw RemoteError(.invalidArgument, "page_size must be greater than or equal to zero.")
    }
    try database.authority.checkRead(query, as: user)
    let number = PageToken.list(["partitions", group, "\(request.partitionCount)"])
    let token = try PageToken(request.pageToken, of: number)
    let shared = try snapshot(request.readTime, token, in: database)
    defer { withExtendedLifetime(shared) {} }
    let last = try token.map { token throws(RemoteError) in try Self.path(token.last, of: database) }
    let points = try shared.snapshot.splitPoints(
      ofGroup: group, max: Int(min(request.partitionCount, Int64(Self.partitionsMax))))
    let rest = points.drop { point in
      last.map { ValueOrder.compare(point, $0) != .after } ?? false
    }
    let page = request.pageSize == 0 ? rest : rest.prefix(Int(request.pageSize))
    var response = Wire.PartitionQueryResponse()
    response.partitions = page.map { point in
      var cursor = Wire.Cursor()
      let reference = StoredReference(
        projectID: database.name.projectID, databaseID: database.name.databaseID, path: point)
      cursor.values = [.reference(reference)]
      cursor.before = true
      return cursor
    }
    if rest.count > page.count, let last = page.last {
      var next = PageToken()
      next.last = database.name.name(of: last)
      next.values = [.timestamp(shared.readTime.stored)]
      next.list = number
      response.nextPageToken = try next.text()
    }
    return response
  }

  private static func path(_ name: String, of database: ServedDatabase) throws(RemoteError) -> DocumentPath {
    do throws(RemoteError) { return try database.name.path(of: name) } catch { throw PageToken.invalid }
  }

  /// All pages are from one snapshot, as long as its documents are kept.
  private func snapshot(
    _ readTime: Wire.Timestamp?, _ token: PageToken?, in database: ServedDatabase
  ) throws(RemoteError) -> SharedSnapshot {
    if let readTime { return try database.snapshot(at: readTime) }
    guard case .timestamp(let time)? = token?.values.first else { return try database.snapshotNow() }
    do throws(RemoteError) {
      return try database.snapshot(at: Wire.Timestamp(time))
    } catch {
      guard error.code == .failedPrecondition else { throw PageToken.invalid }
      return try database.snapshotNow()
    }
  }

  /// The query of a request, which must be for all documents of a collection group in the order of names.
  private func partitioned(
    _ request: Wire.PartitionQueryRequest, in database: ServedDatabase
  ) throws(RemoteError) -> (group: String, query: StructuredQuery) {
    guard let message = request.structuredQuery else {
      throw RemoteError(.invalidArgument, "only structured queries are supported")
    }
    guard try database.name.parent(of: request.parent) == nil else {
      throw RemoteError(.invalidArgument, "The parent of a partition query must be the root of the database.")
    }
    let query = try database.name.query(message, parent: request.parent).query
    guard case .collectionGroup(let group) = query.scope else {
      throw RemoteError(.invalidArgument, "A partition query must be of a collection and all descendants.")
    }
    guard message.orderBy.map(\.field?.fieldPath) == ["__name__"],
      message.orderBy.allSatisfy({ $0.direction != .descending })
    else {
      throw RemoteError(.invalidArgument, "A partition query must be ordered by __name__ ascending, alone.")
    }
    guard message.where == nil, message.limit == nil, message.offset == 0, message.startAt == nil,
      message.endAt == nil
    else {
      throw RemoteError(
        .invalidArgument, "A partition query must have no filter, limit, offset and cursor.")
    }
    return (group, query)
  }
}

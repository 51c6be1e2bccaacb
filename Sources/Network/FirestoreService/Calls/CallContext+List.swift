// ListDocuments and ListCollectionIds.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// The number of documents in a page if the request names none.
  private static let documentsStandard = 30

  func listDocuments(
    _ request: Wire.ListDocumentsRequest
  ) throws(RemoteError) -> Wire.ListDocumentsResponse {
    let database = try directory.database(try DatabaseName.database(of: request.parent))
    guard request.pageSize >= 0 else {
      throw RemoteError(.invalidArgument, "Page size must be nonnegative.")
    }
    guard !request.showMissing || request.orderBy.isEmpty else {
      throw RemoteError(.invalidArgument, "cannot specify an order when show_missing is true")
    }
    guard !request.collectionId.isEmpty else {
      throw RemoteError(
        .unimplemented, "A list of the documents of all collections is not supported. Name a collection.")
    }
    let collection = try database.collection(request.collectionId, below: request.parent)
    let list = DocumentList(
      database: database, collection: collection,
      orders: try ListOrder.parse(request.orderBy, of: collection), mask: try FieldMask(of: request.mask),
      count: options.pageCount(request.pageSize, standard: Self.documentsStandard))
    try database.authority.checkRead(try list.query(after: nil, count: nil), as: user)
    let number = PageToken.list([
      "documents", list.collection.description, request.orderBy, request.showMissing ? "missing" : "",
    ])
    let token = try PageToken(request.pageToken, of: number)
    return try reading(database, ReadSelector(request.consistencySelector)) { view throws(RemoteError) in
      request.showMissing
        ? try list.pageWithMissing(in: view, after: token, list: number)
        : try list.page(in: view, after: token, list: number)
    }
  }

  /// A collection without documents is listed if a document is below it. Needs the right to read everything.
  func listCollectionIds(
    _ request: Wire.ListCollectionIdsRequest
  ) throws(RemoteError) -> Wire.ListCollectionIdsResponse {
    let database = try directory.database(try DatabaseName.database(of: request.parent))
    let parent = try database.name.parent(of: request.parent)
    guard request.pageSize >= 0 else {
      throw RemoteError(.invalidArgument, "page_size must be greater than or equal to zero.")
    }
    guard database.authority.rules.mayRead == nil else {
      throw RemoteError(.permissionDenied, "Metadata operations require admin authentication.")
    }
    if let time = request.readTime { _ = try database.snapshot(at: time) }
    let number = PageToken.list(["collections", parent?.description ?? ""])
    let token = try PageToken(request.pageToken, of: number)
    let count = options.pageCount(request.pageSize, standard: options.pageMax)
    let ids = try database.authority.backend.collections(below: parent, after: token?.last, max: count + 1)
    var response = Wire.ListCollectionIdsResponse()
    response.collectionIds = Array(ids.prefix(count))
    if ids.count > count, let last = response.collectionIds.last {
      var next = PageToken()
      next.last = last
      next.list = number
      response.nextPageToken = try next.text()
    }
    return response
  }
}

/// A list of the documents in a collection.
private struct DocumentList {
  let database: ServedDatabase
  let collection: CollectionPath
  let orders: [OrderBy]
  let mask: FieldMask?
  let count: Int

  /// The query for the documents after a place.
  func query(after token: PageToken?, count: Int?) throws(RemoteError) -> StructuredQuery {
    do throws(DocumentStoreError) {
      var query = StructuredQuery(.collection(collection))
      for order in orders { query = try query.ordered(by: order) }
      if let count { query = try query.limited(to: .first(count)) }
      if let token {
        guard token.values.count == query.orders.count - 1 else { throw .invalidArgument("") }
        let name = StoredValue.documentName(DocumentPath(unchecked: collection.segments + [token.last]))
        query.start = Cursor(.after, try position(token.values, name, in: query))
      }
      return query
    } catch {
      guard token == nil else { throw PageToken.invalid }
      throw RemoteError(error)
    }
  }

  /// The values of a position: those of the fields, and the name at its place in the order.
  private func position(
    _ values: [StoredValue], _ name: StoredValue, in query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    var rest = values[...]
    return query.orders.map { $0.field == .documentID ? name : rest.popFirst() ?? .null }
  }

  /// The values of a document in the fields by which the list is ordered.
  private func values(of record: DocumentRecord) -> [StoredValue] {
    orders.filter { $0.field != .documentID }.map { record.value(at: $0.field) ?? .null }
  }

  /// The token with the values of its document, which were too large for its text.
  private func completed(_ token: PageToken, in view: ReadView) throws(RemoteError) -> PageToken {
    guard token.values.isEmpty, orders.contains(where: { $0.field != .documentID }) else { return token }
    let path = DocumentPath(unchecked: collection.segments + [token.last])
    do throws(PathError) { try path.check() } catch { throw PageToken.invalid }
    guard let record = try view.documents(at: [path]).first ?? nil else {
      throw RemoteError(
        .failedPrecondition, "The last document of the page before no longer exists. List from the beginning."
      )
    }
    var token = token
    token.values = values(of: record)
    return token
  }

  func page(
    in view: ReadView, after token: PageToken?, list number: Int64
  ) throws(RemoteError) -> Wire.ListDocumentsResponse {
    let query = try query(
      after: try token.map { token throws(RemoteError) in try completed(token, in: view) }, count: count + 1)
    var records: [DocumentRecord] = []
    try view.forEach(query) { record in
      records.append(record)
      return true
    }
    var response = Wire.ListDocumentsResponse()
    response.documents = records.prefix(count).map { database.document($0, mask) }
    guard records.count > count, let last = records.prefix(count).last else { return response }
    var next = PageToken()
    next.last = last.path.id
    next.values = values(of: last)
    next.list = number
    response.nextPageToken = try next.text()
    return response
  }

  /// A page that also has the names of documents that do not exist, but have documents below them.
  func pageWithMissing(
    in view: ReadView, after token: PageToken?, list number: Int64
  ) throws(RemoteError) -> Wire.ListDocumentsResponse {
    let ids = try database.authority.backend.documentIDs(in: collection, after: token?.last, max: count + 1)
    let paths = ids.prefix(count).map { DocumentPath(unchecked: collection.segments + [$0]) }
    var response = Wire.ListDocumentsResponse()
    for (path, record) in zip(paths, try view.documents(at: Array(paths))) {
      if let record {
        response.documents.append(database.document(record, mask))
      } else {
        var missing = Wire.Document()
        missing.name = database.name.name(of: path)
        response.documents.append(missing)
      }
    }
    guard ids.count > count, let last = paths.last else { return response }
    var next = PageToken()
    next.last = last.id
    next.list = number
    response.nextPageToken = try next.text()
    return response
  }
}

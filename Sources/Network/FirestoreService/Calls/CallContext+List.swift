// ListDocuments and ListCollectionIds.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// The number of documents in a page if the request names none.
  private static let documentsStandard = 30

  func listDocuments(
    _ request: Wire.ListDocumentsRequest, _ send: @escaping Send<Wire.ListDocumentsResponse>
  ) throws(RemoteError) -> AnswerProgress {
    let database = try database(ofParent: request.parent)
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
    if request.showMissing { try database.checkMayReadNames() }
    let number = PageToken.list([
      "documents", list.collection.description, request.orderBy, request.showMissing ? "missing" : "",
    ])
    let token = try PageToken(request.pageToken, of: number)
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    return try reading.afterLocking { () throws(RemoteError) in
      try reading.perform { view throws(RemoteError) in
        _ = try send(
          request.showMissing
            ? try list.pageWithMissing(in: view, after: token, list: number)
            : try list.page(in: view, after: token, list: number))
        return .done
      }
    }
  }

  /// A collection without documents is listed if a document is below it. Needs the right to read everything.
  func listCollectionIds(
    _ request: Wire.ListCollectionIdsRequest
  ) throws(RemoteError) -> Wire.ListCollectionIdsResponse {
    let database = try database(ofParent: request.parent)
    let parent = try database.name.parent(of: request.parent)
    guard request.pageSize >= 0 else {
      throw RemoteError(.invalidArgument, "page_size must be greater than or equal to zero.")
    }
    try database.checkMayReadNames()
    let number = PageToken.list(["collections", parent?.description ?? ""])
    let token = try PageToken(request.pageToken, of: number)
    let count = options.pageCount(request.pageSize, standard: options.pageMax)
    let shared =
      if let time = request.readTime { try database.snapshot(at: time) } else { try database.snapshotNow() }
    defer { withExtendedLifetime(shared) {} }
    let ids = try shared.snapshot.collections(below: parent, after: token?.last, max: count + 1)
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

extension ServedDatabase {
  /// Throws if there are rules for reads. They are about documents, and say nothing about the names of
  /// collections and of documents that do not exist.
  func checkMayReadNames() throws(RemoteError) {
    guard authority.rules.mayRead == nil else {
      throw RemoteError(.permissionDenied, "Metadata operations require admin authentication.")
    }
  }
}

/// A list of the documents in a collection.
private struct DocumentList: Sendable {
  /// A page ends after the document that reaches this size, because the answer is one message.
  private static let bytesMax = 4 << 20

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
    let pages = try view.pages(query)
    var response = Wire.ListDocumentsResponse()
    var (last, bytes): (DocumentRecord?, Int) = (nil, 0)
    while true {
      let page = try view.next(of: pages)
      guard !page.isEmpty else { return response }
      for record in page {
        if let last, response.documents.count == count || bytes >= Self.bytesMax {
          response.nextPageToken = try nextToken(last, in: query, list: number)
          return response
        }
        response.documents.append(database.document(record, mask))
        bytes += record.byteCount
        last = record
      }
    }
  }

  /// The token of the page after a document.
  private func nextToken(
    _ last: DocumentRecord, in query: StructuredQuery, list number: Int64
  ) throws(RemoteError) -> String {
    var next = PageToken()
    next.last = last.path.id
    next.values = values(of: last)
    next.list = number
    return try next.text()
  }

  /// A page that also has the names of documents that do not exist, but have documents below them.
  func pageWithMissing(
    in view: ReadView, after token: PageToken?, list number: Int64
  ) throws(RemoteError) -> Wire.ListDocumentsResponse {
    let ids = try view.documentIDs(in: collection, after: token?.last, max: count + 1)
    let paths = ids.map { DocumentPath(unchecked: collection.segments + [$0]) }
    var response = Wire.ListDocumentsResponse()
    var (last, bytes): (DocumentPath?, Int) = (nil, 0)
    for start in stride(from: 0, to: paths.count, by: CallContext.readCount) {
      let part = Array(paths[start..<min(start + CallContext.readCount, paths.count)])
      for (path, record) in zip(part, try view.documents(at: part)) {
        if let last, response.documents.count == count || bytes >= Self.bytesMax {
          var next = PageToken()
          next.last = last.id
          next.list = number
          response.nextPageToken = try next.text()
          return response
        }
        response.documents.append(record.map { database.document($0, mask) } ?? missing(path))
        bytes += record?.byteCount ?? 0
        last = path
      }
    }
    return response
  }

  /// The message of a document that does not exist.
  private func missing(_ path: DocumentPath) -> Wire.Document {
    var missing = Wire.Document()
    missing.name = database.name.name(of: path)
    return missing
  }
}

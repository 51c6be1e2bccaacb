// The result of a query at a time in the recent past, in pages:
//
//   1. Read a page of the earlier snapshot, and leave out the documents that have changed since.
//   2. Merge it with the changed documents that match, which are in memory and sorted.
//   3. Skip the documents of the offset, and stop at the limit.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

final class PastPages: BackendPages {
  fileprivate struct State {
    /// The documents of the earlier snapshot, and as many as the limit can need.
    var unchanged: QueryPages
    var isAtEnd = false
    /// The changed documents of the result that were not returned yet.
    var added: ArraySlice<StoredDocument>
    var skipCount: Int
    /// The number of documents up to the limit; nil without a limit.
    var leftCount: Int?
  }

  private let query: StructuredQuery
  /// The query whose order the pages have: a limit on the last documents is one on the first documents of the
  /// mirrored query.
  private let run: StructuredQuery
  private let changed: [DocumentPath: StoredDocument?]
  private let state: Locked<State>

  init(
    _ query: StructuredQuery, in snapshot: StoreSnapshot, changed: [DocumentPath: StoredDocument?],
    pageBytes: Int = QueryPages.pageBytesStandard
  ) throws(DocumentStoreError) {
    let run = query.executableForm
    self.query = query
    self.run = run
    self.changed = changed
    let added = changed.values.compactMap { $0 }.filter { run.matches($0) }
      .sorted { run.compare($0, $1) == .before }
    let unchanged = snapshot.pages(
      try Self.wider(run, changedCount: changed.count), pageBytes: pageBytes)
    state = Locked(
      State(
        unchanged: unchanged, added: added[...], skipCount: run.offset, leftCount: Self.count(run.limit)))
  }

  /// The query for as many documents as the result can need if all changed ones are left out.
  private static func wider(
    _ run: StructuredQuery, changedCount: Int
  ) throws(DocumentStoreError) -> StructuredQuery {
    let wider = try run.skipping(0)
    guard let count = count(run.limit), count > 0 else { return wider }
    let (most, isTooLarge) = count.addingReportingOverflow(run.offset + changedCount)
    return try wider.limited(to: .first(isTooLarge ? .max : most))
  }

  private static func count(_ limit: StructuredQuery.Limit?) -> Int? {
    switch limit {
    case .first(let count), .last(let count): count
    case nil: nil
    }
  }

  // MARK: Pages

  func next() throws(RemoteError) -> [DocumentRecord] {
    try translating { () throws(DocumentStoreError) in try nextPage() }
  }

  func nextPage() throws(DocumentStoreError) -> [DocumentRecord] {
    guard case .last = query.limit else { return try nextInOrder() }
    var all: [DocumentRecord] = []
    while true {
      let page = try nextInOrder()
      guard !page.isEmpty else { return all.reversed() }
      all += page
    }
  }

  private func nextInOrder() throws(DocumentStoreError) -> [DocumentRecord] {
    try state.withLock { state throws(DocumentStoreError) in
      while !state.isAtEnd, state.leftCount != 0 {
        let page = state.select(from: try merge(&state))
        if !page.isEmpty { return page }
      }
      return []
    }
  }

  /// The next documents of the snapshot with the changed ones before them. At the end of the snapshot, all
  /// changed documents that are left.
  private func merge(_ state: inout State) throws(DocumentStoreError) -> [DocumentRecord] {
    let page = try state.unchanged.next()
    guard !page.isEmpty else {
      state.isAtEnd = true
      defer { state.added = [] }
      return state.added.map { DocumentRecord($0) }
    }
    var merged: [DocumentRecord] = []
    for record in page where changed[record.path] == nil {
      if !state.added.isEmpty {
        let document = record.document
        while let next = state.added.first, run.compare(next, document) == .before {
          merged.append(DocumentRecord(next))
          state.added.removeFirst()
        }
      }
      merged.append(record)
    }
    return merged
  }
}

extension PastPages.State {
  /// The documents of a page that are behind the offset and within the limit.
  fileprivate mutating func select(from page: [DocumentRecord]) -> [DocumentRecord] {
    let skipped = min(skipCount, page.count)
    skipCount -= skipped
    var selected = page.dropFirst(skipped)
    if let count = leftCount {
      selected = selected.prefix(count)
      leftCount = count - selected.count
    }
    return Array(selected)
  }
}

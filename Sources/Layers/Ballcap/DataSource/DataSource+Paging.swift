// Reads documents page by page.
//
// The first page starts where the query starts. Each other page starts after the last document of the
// previous page. Pages are not live.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// Reads the first page. `block` is called before the documents are in the list, with true if the page was
  /// empty. An error goes to `onError`.
  @discardableResult
  public func get(_ block: ((Bool) -> Void)? = nil) -> Self { read(query, block) }

  /// Reads the page after the last document that was read.
  @discardableResult
  public func next(_ block: ((Bool) -> Void)? = nil) -> Self { read(current, block) }

  private func read(_ page: Query, _ block: ((Bool) -> Void)?) -> Self {
    let changedBlock = changedBlock
    page.query.getDocuments { [self] snapshot, error in
      guard let snapshot else {
        if let error { report(error, nil) }
        block?(false)
        return
      }
      let isEmpty = turnPage(to: snapshot)
      block?(isEmpty)
      if isEmpty { changedBlock?(nil, unchanged) } else { show(snapshot) }
    }
    return self
  }

  /// Updates the position for the next page. Returns whether the page is empty.
  private func turnPage(to page: QuerySnapshot) -> Bool {
    guard page.isEmpty else {
      advance(after: page)
      return false
    }
    isLast = true
    hasMore = false
    return true
  }

  private func show(_ page: QuerySnapshot) {
    let documents = query.hasPredicates ? page.documents.filter(query.accepts) : page.documents
    if canFillDirectly { return fill(page, documents) }
    receive(page, documents.map { Pending.Change(kind: .added, document: $0) })
  }

  // MARK: Async

  /// Reads the first page. Returns when its documents are in the list, and returns true if the page was
  /// empty. With `retrieve`, the documents may arrive later; then `onChanged` reports them.
  @discardableResult
  nonisolated(nonsending) public func get() async throws -> Bool { try await read(query) }

  /// Reads the page after the last document that was read. Returns true if the page was empty.
  @discardableResult
  nonisolated(nonsending) public func next() async throws -> Bool { try await read(current) }

  nonisolated(nonsending) private func read(_ page: Query) async throws -> Bool {
    let snapshot = try await page.query.getDocuments()
    guard !turnPage(to: snapshot) else {
      changedBlock?(nil, unchanged)
      return true
    }
    show(snapshot)
    return false
  }
}

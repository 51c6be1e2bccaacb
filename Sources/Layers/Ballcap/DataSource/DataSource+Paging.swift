// Documents page by page.
//
// The pages begin where the query does, and each behind the last document of the one before. They are not
// live.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// Reads the first page. `block` is told whether there was nothing, before the documents are there; an
  /// error goes to `onError`.
  @discardableResult
  public func get(_ block: ((Bool) -> Void)? = nil) -> Self { read(query, block) }

  /// Reads the page behind the last document that was read.
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
      let isEmpty = turn(to: snapshot)
      block?(isEmpty)
      if isEmpty { changedBlock?(nil, unchanged) } else { show(snapshot) }
    }
    return self
  }

  /// Whether there is nothing on the page.
  private func turn(to page: QuerySnapshot) -> Bool {
    guard page.isEmpty else {
      advance(behind: page)
      return false
    }
    isLast = true
    hasMore = false
    return true
  }

  private func show(_ page: QuerySnapshot) {
    let documents = query.hasPredicates ? page.documents.filter(query.accepts) : page.documents
    if isBlank { return fill(page, documents) }
    receive(page, documents.map { Pending.Change(kind: .added, document: $0) })
  }

  // MARK: Async

  /// Reads the first page, and returns once its documents are there: true if there was nothing. With
  /// `retrieve`, the documents may come later; `onChanged` is told.
  @discardableResult
  nonisolated(nonsending) public func get() async throws -> Bool { try await read(query) }

  /// The same for the page behind the last document that was read.
  @discardableResult
  nonisolated(nonsending) public func next() async throws -> Bool { try await read(current) }

  nonisolated(nonsending) private func read(_ page: Query) async throws -> Bool {
    let snapshot = try await page.query.getDocuments()
    guard !turn(to: snapshot) else {
      changedBlock?(nil, unchanged)
      return true
    }
    show(snapshot)
    return false
  }
}

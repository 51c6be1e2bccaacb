// Commits in two halves, for benchmarks outside this package.

import Dispatch

/// An interface for benchmarks; not for users, and subject to change.
@_spi(Measure)
public struct MeasuredDocumentStore: Sendable {
  private let store: DocumentStore
  private let beginning = DispatchQueue(label: "dugout.measured.beginning")
  private let finishing = DispatchQueue(label: "dugout.measured.finishing")

  public init(_ store: DocumentStore) { self.store = store }

  /// Opens a store with a given page cache size, for measurements with little memory.
  public static func open(_ path: String, cacheBytesMax: Int) throws(DocumentStoreError) -> DocumentStore {
    var options = DocumentStore.Options()
    options.cacheBytesMax = cacheBytesMax
    return try DocumentStore.open(path, options: options)
  }

  /// Starts a write and returns at once. Passes the commit's result to `done` later, like the public API
  /// above this module.
  public func write(
    _ mutations: [Mutation], _ done: @escaping @Sendable (Result<Void, DocumentStoreError>) -> Void
  ) {
    beginning.async {
      let begun = Result { () throws(DocumentStoreError) in try store.begin(mutations) }
      finishing.async {
        done(Result { () throws(DocumentStoreError) in _ = try store.finish(try begun.get()) })
      }
    }
  }
}

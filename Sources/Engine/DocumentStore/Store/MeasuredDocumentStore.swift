// Commits in two halves for programs outside of this package that measure them.

import Dispatch

/// What the benchmarks may call; not for users, and free to change.
@_spi(Measure)
public struct MeasuredDocumentStore: Sendable {
  private let store: DocumentStore
  private let beginning = DispatchQueue(label: "dugout.measured.beginning")
  private let finishing = DispatchQueue(label: "dugout.measured.finishing")

  public init(_ store: DocumentStore) { self.store = store }

  /// A store whose cache of segments' pages has a size of its own: for runs in which memory is scarce.
  public static func open(_ path: String, cacheBytesMax: Int) throws(DocumentStoreError) -> DocumentStore {
    var options = DocumentStore.Options()
    options.cacheBytesMax = cacheBytesMax
    return try DocumentStore.open(path, options: options)
  }

  /// Returns at once; `done` is told how the commit fared. The way that the API above takes.
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

// The observable documents of a query, mainly for views.

import FirebaseFirestore
public import Observation

/// An observable data source. It starts to listen when its documents are first accessed, and listens until it
/// is freed.
///
/// ```swift
/// let cities = LiveList(Document<City>.order(by: "title"))
/// withObservationTracking {
///   print(cities.documents.keys)
/// } onChange: {
///   print("they change")
/// }
/// ```
///
/// Callbacks change the list, so use it on the callback queue. By default that is the main queue, as views
/// need.
public final class LiveList<T: Object & DataRepresentable>: Observable {
  /// The data source of the documents, for paging and for single changes. Its `onError` belongs to this list.
  public let source: DataSource<T>

  private let registrar = ObservationRegistrar()
  private var isBegun = false
  private var lastError: (any Error)?

  /// Creates a list that follows the query as long as the list lives.
  public init(_ query: DataSource<T>.Query, option: DataSource<T>.Option = DataSource<T>.Option()) {
    source = query.dataSource(option: option)
  }

  deinit { source.observers[ObjectIdentifier(self)] = nil }

  /// The documents in order. The first access starts the listening.
  public var documents: [T] {
    begin()
    registrar.access(self, keyPath: \.documents)
    return source.documents
  }

  /// The last error. A database error ends the listening.
  public var error: (any Error)? {
    registrar.access(self, keyPath: \.error)
    return lastError
  }

  private func begin() {
    guard !isBegun else { return }
    isBegun = true
    source.observers[ObjectIdentifier(self)] = { [weak self] _, _ in self?.noteChange() }
    source.onError { [weak self] (_, error: any Error) in self?.note(error) }
    source.listen()
  }

  private func noteChange() { registrar.withMutation(of: self, keyPath: \.documents) {} }

  private func note(_ error: any Error) {
    registrar.withMutation(of: self, keyPath: \.error) { lastError = error }
  }
}

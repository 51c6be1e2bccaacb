// The documents of a query for whoever observes them: views above all.

import FirebaseFirestore
public import Observation

/// A data source that can be observed. It listens from the first look at its documents on, as long as it is
/// kept.
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
/// Callbacks change it, so that it belongs to the callback queue: for views that is the main queue, as it is
/// unless the settings say otherwise.
public final class LiveList<T: Object & DataRepresentable>: Observable {
  /// What keeps the documents: for pages, and for changes one by one. Its `onError` belongs to this list.
  public let source: DataSource<T>

  private let registrar = ObservationRegistrar()
  private var isBegun = false
  private var lastError: (any Error)?

  /// A list that follows the query for as long as it lives.
  public init(_ query: DataSource<T>.Query, option: DataSource<T>.Option = DataSource<T>.Option()) {
    source = query.dataSource(option: option)
  }

  deinit { source.observers[ObjectIdentifier(self)] = nil }

  /// In order.
  public var documents: [T] {
    begin()
    registrar.access(self, keyPath: \.documents)
    return source.documents
  }

  /// What went wrong last: an error of the database ends the listening.
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

// Query results in SwiftUI views.

#if canImport(SwiftUI)
public import SwiftUI

/// The live results of a query of the default database in a view: an array of values, or a `Result` with such
/// an array.
///
/// ```swift
/// struct CitiesView: View {
///   @FirestoreQuery(collectionPath: "cities", predicates: [.order(by: "name")]) var cities: [City]
///
///   var body: some View {
///     List(cities, id: \.name) { city in Text(city.name) }
///   }
/// }
/// ```
///
/// `$cities` is the configuration, which holds the query and the last error.
@propertyWrapper
public struct FirestoreQuery<T>: DynamicProperty {
  public typealias Configuration = FirestoreQueryConfiguration

  @State private var observable: FirestoreQueryObservable<T>

  /// Queries the collection. The results are an array of values. With `animation`, new results appear with
  /// that animation.
  public init<U: Decodable>(
    collectionPath: String, predicates: [QueryPredicate] = [],
    decodingFailureStrategy: DecodingFailureStrategy = .raise, animation: Animation? = nil
  ) where T == [U] {
    var configuration = Configuration(
      path: collectionPath, predicates: predicates, decodingFailureStrategy: decodingFailureStrategy)
    configuration.animation = animation
    _observable = State(initialValue: FirestoreQueryObservable(configuration: configuration))
  }

  /// Queries the collection. The result is an array of values, or the error that prevented it. With
  /// `animation`, new results appear with that animation.
  public init<U: Decodable>(
    collectionPath: String, predicates: [QueryPredicate] = [],
    decodingFailureStrategy: DecodingFailureStrategy = .raise, animation: Animation? = nil
  ) where T == Result<[U], any Error> {
    var configuration = Configuration(
      path: collectionPath, predicates: predicates, decodingFailureStrategy: decodingFailureStrategy)
    configuration.animation = animation
    _observable = State(initialValue: FirestoreQueryObservable(configuration: configuration))
  }

  public var wrappedValue: T { observable.items }

  public var projectedValue: Configuration {
    get { observable.configuration }
    nonmutating set { observable.configuration = newValue }
  }
}
#endif

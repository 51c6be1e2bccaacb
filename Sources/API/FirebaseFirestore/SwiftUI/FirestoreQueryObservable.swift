// An observable query whose results are values, for `@FirestoreQuery` and for use without SwiftUI.

public import Observation

#if canImport(SwiftUI)
public import SwiftUI
#endif

/// The treatment of documents that cannot be decoded.
public enum DecodingFailureStrategy: Sendable {
  /// Omits them from the results.
  case ignore
  /// Fails the whole result: the items are empty, or the `Result` is the error.
  case raise
}

/// The live results of a query as values. Listening starts at the first access to `items` and ends when the
/// object is released.
///
/// ```swift
/// struct City: Codable { var name: String }
///
/// let cities = FirestoreQueryObservable<[City]>(
///   configuration: FirestoreQueryConfiguration(path: "cities", predicates: [.order(by: "name")]))
/// print(cities.items.map(\.name))
/// ```
///
/// `Items` is an array of values, or a `Result` with such an array. Callbacks change the object, so use it
/// only on the callback queue. By default, this is the main queue, as views require.
public final class FirestoreQueryObservable<Items>: Observable {
  private let firestore: () -> Firestore
  private let make: (Result<QuerySnapshot, any Error>, DecodingFailureStrategy) -> DecodedItems
  private let registrar = ObservationRegistrar()
  private var registration: (any ListenerRegistration)?
  private var known: Items
  private var chosen: FirestoreQueryConfiguration

  /// The items and the error that result from a snapshot.
  private struct DecodedItems {
    var items: Items
    var error: (any Error)?
  }

  private init(
    _ configuration: FirestoreQueryConfiguration, _ firestore: @escaping () -> Firestore, start: Items,
    _ make: @escaping (Result<QuerySnapshot, any Error>, DecodingFailureStrategy) -> DecodedItems
  ) {
    chosen = configuration
    self.firestore = firestore
    known = start
    self.make = make
  }

  /// Creates the query, by default in the default database. Listening starts at the first access to `items`.
  public convenience init<Value: Decodable>(
    configuration: FirestoreQueryConfiguration,
    firestore: @autoclosure @escaping () -> Firestore = .firestore()
  ) where Items == [Value] {
    self.init(configuration, firestore, start: []) { result, strategy in
      let (values, error) = decoded(Value.self, result)
      return DecodedItems(items: error != nil && strategy == .raise ? [] : values, error: error)
    }
  }

  public convenience init<Value: Decodable>(
    configuration: FirestoreQueryConfiguration,
    firestore: @autoclosure @escaping () -> Firestore = .firestore()
  ) where Items == Result<[Value], any Error> {
    self.init(configuration, firestore, start: .success([])) { result, strategy in
      let (values, error) = decoded(Value.self, result)
      if let error, strategy == .raise || (try? result.get()) == nil {
        return DecodedItems(items: .failure(error), error: error)
      }
      return DecodedItems(items: .success(values), error: error)
    }
  }

  deinit { registration?.remove() }

  // MARK: Results

  /// The current results; empty until the first snapshot arrives.
  public var items: Items {
    listen()
    registrar.access(self, keyPath: \.items)
    return known
  }

  /// The query and its last error. Changing it restarts the query.
  public var configuration: FirestoreQueryConfiguration {
    get {
      registrar.access(self, keyPath: \.configuration)
      return chosen
    }
    set {
      note(newValue)
      guard let old = registration else { return }
      old.remove()
      registration = nil
      listen()
    }
  }

  // MARK: Listening

  private func listen() {
    guard registration == nil else { return }
    let collection: Query = firestore().collection(chosen.path)
    let query = chosen.predicates.reduce(collection) { $0.refined(by: $1) }
    registration = query.addSnapshotListener { [weak self] snapshot, error in
      if let snapshot { self?.take(.success(snapshot)) }
      if let error { self?.take(.failure(error)) }
    }
  }

  private func take(_ result: Result<QuerySnapshot, any Error>) {
    let decoded = make(result, chosen.decodingFailureStrategy)
    animated { registrar.withMutation(of: self, keyPath: \.items) { known = decoded.items } }
    guard decoded.error != nil || chosen.error != nil else { return }
    var configuration = chosen
    configuration.error = decoded.error
    note(configuration)
  }

  /// Runs a change that is visible in views, with the configuration's animation if it has one.
  private func animated(_ change: () -> Void) {
    #if canImport(SwiftUI)
    if let animation = chosen.animation { return withAnimation(animation, change) }
    #endif
    change()
  }

  private func note(_ configuration: FirestoreQueryConfiguration) {
    registrar.withMutation(of: self, keyPath: \.configuration) { chosen = configuration }
  }
}

/// Returns the decoded documents and the last error.
private func decoded<Value: Decodable>(
  _ type: Value.Type, _ result: Result<QuerySnapshot, any Error>
) -> (values: [Value], error: (any Error)?) {
  var values: [Value] = []
  var failure: (any Error)?
  do {
    for document in try result.get().documents {
      do { values.append(try document.data(as: type)) } catch { failure = error }
    }
  } catch {
    failure = error
  }
  return (values, failure)
}

/// The query of a `FirestoreQueryObservable`.
public struct FirestoreQueryConfiguration {
  /// The path of the collection.
  public var path: String
  /// The steps of the query.
  public var predicates: [QueryPredicate]
  /// The treatment of documents that cannot be decoded.
  public var decodingFailureStrategy: DecodingFailureStrategy
  /// The last error; nil after a result without errors.
  public var error: (any Error)?
  #if canImport(SwiftUI)
  /// The animation for new results; nil for none.
  public var animation: Animation?
  #endif

  /// Creates the configuration of a query of the collection at `path`.
  public init(
    path: String, predicates: [QueryPredicate] = [],
    decodingFailureStrategy: DecodingFailureStrategy = .raise
  ) {
    self.path = path
    self.predicates = predicates
    self.decodingFailureStrategy = decodingFailureStrategy
  }
}

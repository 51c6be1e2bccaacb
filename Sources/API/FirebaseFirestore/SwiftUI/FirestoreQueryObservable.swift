// A query whose results are values, for whoever observes them: what `@FirestoreQuery` is in SwiftUI, and elsewhere.

public import Observation

#if canImport(SwiftUI)
public import SwiftUI
#endif

/// What becomes of results that do not decode.
public enum DecodingFailureStrategy: Sendable {
  /// They are left out.
  case ignore
  /// One of them is enough to fail the whole: there are no items then, or the failure is the result.
  case raise
}

/// The results of a query as values, live. It listens from the first look on, as long as it is kept.
///
/// ```swift
/// struct City: Codable { var name: String }
///
/// let cities = FirestoreQueryObservable<[City]>(
///   configuration: FirestoreQueryConfiguration(path: "cities", predicates: [.order(by: "name")]))
/// print(cities.items.map(\.name))
/// ```
///
/// `Items` is an array of values, or the `Result` of one. Callbacks change it, so that it belongs to the callback queue:
/// for views that is the main queue, as it is unless the settings say otherwise.
public final class FirestoreQueryObservable<Items>: Observable {
  private let firestore: () -> Firestore
  private let make: (Result<QuerySnapshot, any Error>, DecodingFailureStrategy) -> Made
  private let registrar = ObservationRegistrar()
  private var registration: (any ListenerRegistration)?
  private var known: Items
  private var chosen: FirestoreQueryConfiguration

  /// What a state is for the user, and what was wrong with it.
  private struct Made {
    var items: Items
    var error: (any Error)?
  }

  private init(
    _ configuration: FirestoreQueryConfiguration, _ firestore: @escaping () -> Firestore, _ start: Items,
    _ make: @escaping (Result<QuerySnapshot, any Error>, DecodingFailureStrategy) -> Made
  ) {
    chosen = configuration
    self.firestore = firestore
    known = start
    self.make = make
  }

  /// Without an argument, a query of the default database.
  public convenience init<Value: Decodable>(
    configuration: FirestoreQueryConfiguration,
    firestore: @autoclosure @escaping () -> Firestore = .firestore()
  ) where Items == [Value] {
    self.init(configuration, firestore, []) { result, strategy in
      let (values, error) = decoded(Value.self, result)
      return Made(items: error != nil && strategy == .raise ? [] : values, error: error)
    }
  }

  public convenience init<Value: Decodable>(
    configuration: FirestoreQueryConfiguration,
    firestore: @autoclosure @escaping () -> Firestore = .firestore()
  ) where Items == Result<[Value], any Error> {
    self.init(configuration, firestore, .success([])) { result, strategy in
      let (values, error) = decoded(Value.self, result)
      if let error, strategy == .raise || (try? result.get()) == nil {
        return Made(items: .failure(error), error: error)
      }
      return Made(items: .success(values), error: error)
    }
  }

  deinit { registration?.remove() }

  // MARK: Looking

  /// Empty until the first answer is there.
  public var items: Items {
    listen()
    registrar.access(self, keyPath: \.items)
    return known
  }

  /// What is asked, and what went wrong last. To change it begins anew.
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
    let made = make(result, chosen.decodingFailureStrategy)
    animated { registrar.withMutation(of: self, keyPath: \.items) { known = made.items } }
    guard made.error != nil || chosen.error != nil else { return }
    var configuration = chosen
    configuration.error = made.error
    note(configuration)
  }

  /// Makes a change that views show, with the animation of the configuration where there is one.
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

/// What decodes, and the last error.
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

/// What a `FirestoreQueryObservable` asks.
public struct FirestoreQueryConfiguration {
  /// Of the collection.
  public var path: String
  /// What is asked of the collection.
  public var predicates: [QueryPredicate]
  /// What happens when a document cannot be decoded.
  public var decodingFailureStrategy: DecodingFailureStrategy
  /// What went wrong last; nil once an answer was right.
  public var error: (any Error)?
  #if canImport(SwiftUI)
  /// How views go over to new results; nil for at once.
  public var animation: Animation?
  #endif

  /// Asks the collection at `path`.
  public init(
    path: String, predicates: [QueryPredicate] = [],
    decodingFailureStrategy: DecodingFailureStrategy = .raise
  ) {
    self.path = path
    self.predicates = predicates
    self.decodingFailureStrategy = decodingFailureStrategy
  }
}

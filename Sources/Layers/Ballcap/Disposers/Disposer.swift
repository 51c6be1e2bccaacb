// Listening that ends with the lifetime of an object.

public import FirebaseFirestore
import LayerKit

/// An observation that can be ended. Ending it again does nothing.
public protocol ReferenceObservationDisposable {
  /// Ends the observation. A second call does nothing.
  func dispose()
}

/// Ends the listening on `dispose`, or when the disposer is freed. Keep the disposer as long as the listening
/// is needed.
public final class Disposer: ReferenceObservationDisposable {
  /// The listener that the disposer removes.
  public enum ObserveType: Sendable {
    /// No listener.
    case none
    /// The listener of a list.
    case array(any ListenerRegistration)
    /// The listener of a document.
    case value(any ListenerRegistration)

    /// The listener's registration in the database; nil if there is none.
    public var listener: (any ListenerRegistration)? {
      switch self {
      case .none: nil
      case .array(let listener), .value(let listener): listener
      }
    }
  }

  private let held: HeldListener

  /// Creates a disposer for a listener.
  public init(_ type: ObserveType = .none) { held = HeldListener(type.listener) }

  public func dispose() { held.remove() }

  /// Returns an `AnyDisposer` that wraps this disposer.
  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

/// Wraps a disposable. Disposes of it on `dispose` or when the wrapper is freed, even if the disposable is
/// also kept elsewhere.
public final class AnyDisposer: ReferenceObservationDisposable {
  /// The wrapped disposer.
  public let base: any ReferenceObservationDisposable

  /// Wraps another disposer.
  public init(_ base: any ReferenceObservationDisposable = NoDisposer()) { self.base = base }

  deinit { base.dispose() }

  public func dispose() { base.dispose() }
}

/// A disposer that does nothing.
public final class NoDisposer: ReferenceObservationDisposable {
  /// Creates a disposer that does nothing.
  public init() {}

  public func dispose() {}
}

// Disposers: objects that remove a listener when they are freed.

public import FirebaseFirestore
import LayerKit

/// An observation that can be ended.
public protocol ReferenceObservationDisposable {
  /// Ends the observation. A second call does nothing.
  func dispose()
}

/// An object that removes a listener on `dispose` or when the object is freed. Keep the disposer as long as
/// the listener is needed.
public final class Disposer<T: Document>: ReferenceObservationDisposable {
  /// The listener that the disposer removes.
  public enum ObserveType: Sendable {
    /// No listener.
    case none
    /// The listener of a list.
    case array(any ListenerRegistration)
    /// The listener of a document.
    case value(any ListenerRegistration)

    /// The registration of the listener; nil if there is none.
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

  /// Returns a type-erased disposer that wraps this one.
  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

/// A type-erased disposer. When it is disposed of or freed, it disposes of the disposer that it wraps, even
/// if other code still holds that disposer.
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

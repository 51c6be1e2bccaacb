// The end of listening, tied to a lifetime.

public import FirebaseFirestore
import LayerKit

/// An observation that can be ended; ending it again does nothing.
public protocol ReferenceObservationDisposable {
  /// Stops what is observed. A second call does nothing.
  func dispose()
}

/// Ends the listening when asked, or when it is freed. So it has to be kept as long as anything is to be heard.
public final class Disposer: ReferenceObservationDisposable {
  /// What stops when the disposer is disposed of.
  public enum ObserveType: Sendable {
    /// Nothing.
    case none
    /// The listener of a list.
    case array(any ListenerRegistration)
    /// The listener of a document.
    case value(any ListenerRegistration)

    /// The database's own listener; nil if there is none.
    public var listener: (any ListenerRegistration)? {
      switch self {
      case .none: nil
      case .array(let listener), .value(let listener): listener
      }
    }
  }

  private let held: HeldListener

  /// Makes a disposer for a listener.
  public init(_ type: ObserveType = .none) { held = HeldListener(type.listener) }

  public func dispose() { held.remove() }

  /// The same without the type.
  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

/// Disposes its base when asked, or when it is freed, also if someone else has the base.
public final class AnyDisposer: ReferenceObservationDisposable {
  /// What is disposed of.
  public let base: any ReferenceObservationDisposable

  /// Wraps another disposer.
  public init(_ base: any ReferenceObservationDisposable = NoDisposer()) { self.base = base }

  deinit { base.dispose() }

  public func dispose() { base.dispose() }
}

/// Nothing to end.
public final class NoDisposer: ReferenceObservationDisposable {
  /// Makes one that disposes of nothing.
  public init() {}

  public func dispose() {}
}

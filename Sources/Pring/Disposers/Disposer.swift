// The end of listening, tied to a lifetime.

private import FirebaseCore
public import FirebaseFirestore

/// What can be ended; ending it again does nothing.
public protocol ReferenceObservationDisposable {
  func dispose()
}

/// Ends the listening when asked, or when it is freed. So it has to be kept as long as anything is to be heard.
public final class Disposer<T: Document>: ReferenceObservationDisposable {
  public enum ObserveType: Sendable {
    case none
    case array(any ListenerRegistration)
    case value(any ListenerRegistration)

    public var listener: (any ListenerRegistration)? {
      switch self {
      case .none: nil
      case .array(let listener), .value(let listener): listener
      }
    }
  }

  private let held: HeldListener

  public init(_ type: ObserveType = .none) { held = HeldListener(type.listener) }

  public func dispose() { held.remove() }

  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

/// Disposes its base when asked, or when it is freed, also if someone else has the base.
public final class AnyDisposer: ReferenceObservationDisposable {
  public let base: any ReferenceObservationDisposable

  public init(_ base: any ReferenceObservationDisposable = NoDisposer()) { self.base = base }

  deinit { base.dispose() }

  public func dispose() { base.dispose() }
}

/// Nothing to end.
public final class NoDisposer: ReferenceObservationDisposable {
  public init() {}

  public func dispose() {}
}

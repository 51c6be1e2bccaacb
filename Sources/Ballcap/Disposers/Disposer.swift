// The end of listening, tied to a lifetime.

private import FirebaseCore
public import FirebaseFirestore

/// Ends the listening when asked, or when it is freed. So it has to be kept as long as anything is to be heard.
public final class Disposer: ReferenceObservationDisposable {
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

  private let type: Guarded<ObserveType>

  public init(_ type: ObserveType = .none) { self.type = Guarded(type) }

  deinit { dispose() }

  public func dispose() {
    // Removed outside the lock: that may free objects which dispose of something, of this even.
    let listener = type.withLock { type in
      defer { type = .none }
      return type.listener
    }
    listener?.remove()
  }

  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

// The end of listening, tied to a lifetime.

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

  private let held: HeldListener

  public init(_ type: ObserveType = .none) { held = HeldListener(type.listener) }

  public func dispose() { held.remove() }

  public func toAny() -> AnyDisposer { AnyDisposer(self) }
}

extension Disposer: Sendable {}

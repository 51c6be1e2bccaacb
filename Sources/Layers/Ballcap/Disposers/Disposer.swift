// The end of listening, tied to a lifetime.

public import FirebaseFirestore
import LayerKit

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

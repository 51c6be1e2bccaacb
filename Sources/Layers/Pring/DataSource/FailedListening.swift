// The registration of a listener to an invalid query.

private import ByteStore
private import FirebaseCore
import FirebaseFirestore
import Foundation

/// Passes an error to the listener once, on the callback queue, unless the registration is removed first.
final class FailedListening: NSObject, ListenerRegistration {
  private let isRemoved = Locked(false)

  init(_ error: DocumentError, _ queue: DispatchQueue, listener: @escaping FIRQuerySnapshotBlock) {
    super.init()
    let (listener, isRemoved) = (Transferred(listener), isRemoved)
    queue.async {
      if !isRemoved.withLock({ $0 }) { listener.value(nil, error) }
    }
  }

  func remove() { isRemoved.withLock { $0 = true } }
}

// What an app can choose before the first use of a database.

import FirebaseCore
public import Foundation

/// Settings of a database; equal by value.
public final class FirestoreSettings: NSObject, NSCopying, Sendable {
  private let values = Guarded(Values())

  private struct Values: Equatable {
    var dispatchQueue = DispatchQueue.main

    static func == (left: Self, right: Self) -> Bool { left.dispatchQueue === right.dispatchQueue }
  }

  public override init() {}

  /// Where completions and listeners run. A program without a main loop sets another queue.
  public var dispatchQueue: DispatchQueue {
    get { values.withLock { $0.dispatchQueue } }
    set { values.withLock { $0.dispatchQueue = newValue } }
  }

  public func copy(with zone: NSZone? = nil) -> Any { detached() }

  func detached() -> FirestoreSettings {
    let copy = FirestoreSettings()
    let values = values.withLock { $0 }
    copy.values.withLock { $0 = values }
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return values.withLock { $0 } == other.values.withLock { $0 }
  }

  public override var hash: Int { ObjectIdentifier(dispatchQueue).hashValue }
}

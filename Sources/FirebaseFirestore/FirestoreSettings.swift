// What an app can choose before the first use of a database.

public import Foundation

/// Settings of a database; equal by value.
public final class FirestoreSettings: NSObject, NSCopying, @unchecked Sendable {
  // Sendable like the original: an instance is a plain bag of values that its owner fills before use;
  // Firestore copies it on the way in and on the way out.

  /// Where completions and listeners run. A program without a main loop sets another queue.
  public var dispatchQueue: DispatchQueue = .main

  public override init() {}

  public func copy(with zone: NSZone? = nil) -> Any { detached() }

  func detached() -> FirestoreSettings {
    let copy = FirestoreSettings()
    copy.dispatchQueue = dispatchQueue
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? FirestoreSettings).map { $0.dispatchQueue === dispatchQueue } ?? false
  }

  public override var hash: Int { ObjectIdentifier(dispatchQueue).hashValue }
}

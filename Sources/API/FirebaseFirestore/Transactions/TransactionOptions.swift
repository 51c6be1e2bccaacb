// The options of a transaction.

import ByteStore
import FirebaseCore
public import Foundation

/// Options of `runTransaction`, equal by value.
public final class TransactionOptions: NSObject, NSCopying, Sendable {
  static let maxAttemptsDefault = 5

  private let attempts = Locked(maxAttemptsDefault)

  public override init() {}

  /// The maximum number of attempts if other commits keep changing the documents that the transaction reads.
  /// The default is 5. Traps outside 1...Int32.max.
  public var maxAttempts: Int {
    get { attempts.withLock { $0 } }
    set {
      guard (1...Int(Int32.max)).contains(newValue) else {
        return ProgrammerError.report("Invalid maxAttempts: \(newValue)")
      }
      attempts.withLock { $0 = newValue }
    }
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TransactionOptions()
    copy.maxAttempts = maxAttempts
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? TransactionOptions)?.maxAttempts == maxAttempts
  }

  public override var hash: Int { maxAttempts.hashValue }
}

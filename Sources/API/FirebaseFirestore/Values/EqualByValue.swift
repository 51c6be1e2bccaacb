// A protocol for objects that are equal if their values are equal.

import Foundation

/// An object whose `isEqual` and `hash` use `identity`.
protocol EqualByValue: NSObject {
  associatedtype Identity: Hashable

  var identity: Identity { get }
}

extension EqualByValue {
  func isSame(as object: Any?) -> Bool { (object as? Self)?.identity == identity }
}

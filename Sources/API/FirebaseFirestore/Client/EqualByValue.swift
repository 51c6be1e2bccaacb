// Objects that are equal if what they say is.

import Foundation

/// `isEqual` and `hash` go by `identity`.
protocol EqualByValue: NSObject {
  associatedtype Identity: Hashable

  var identity: Identity { get }
}

extension EqualByValue {
  func isSame(as object: Any?) -> Bool { (object as? Self)?.identity == identity }
}

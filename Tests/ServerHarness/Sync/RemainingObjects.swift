// Objects of a history that nothing should refer to after its end.

import Foundation

package struct RemainingObjects {
  private struct Reference {
    let name: String
    weak var object: AnyObject?
  }

  private var references: [Reference] = []

  package init() {}

  package mutating func add(_ object: Any) {
    references.append(Reference(name: "\(type(of: object))", object: object as AnyObject))
  }

  /// The names of the objects that still exist after this time. Threads that end may refer to some of them
  /// until then.
  package func names(within seconds: Double) -> [String] {
    let end = Date().addingTimeInterval(seconds)
    while true {
      let names = references.compactMap { $0.object == nil ? nil : $0.name }
      guard !names.isEmpty, Date() < end else { return names }
      Thread.sleep(forTimeInterval: 0.001)
    }
  }
}

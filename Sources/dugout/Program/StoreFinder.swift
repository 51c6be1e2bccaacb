// Stores near a directory that is none: an app's store lies some folders below the one that the app names.

import Foundation

enum StoreFinder {
  static let foundMax = 5
  private static let depthMax = 3
  private static let lookedAtMax = 1000

  /// Every store has this file.
  private static let mark = "MANIFEST"

  static func stores(below directory: String) -> [String] {
    guard let walk = FileManager.default.enumerator(atPath: directory) else { return [] }
    var found: [String] = []
    for _ in 0..<lookedAtMax {
      guard found.count < foundMax, let path = walk.nextObject() as? String else { break }
      let parts = path.split(separator: "/")
      if parts.count > depthMax { walk.skipDescendants() }
      guard parts.last.map(String.init) == mark, parts.count > 1 else { continue }
      found.append(([directory] + parts.dropLast().map(String.init)).joined(separator: "/"))
    }
    return found.sorted()
  }

  /// What to do about a directory that is no store.
  static func advice(_ directory: String) -> String {
    let stores = stores(below: directory)
    switch stores.count {
    case 0: return "\"dugout set\", \"dugout import\" and \"dugout shell\" make one."
    case 1: return "Did you mean \(stores[0])?"
    default: return "Did you mean one of these?" + stores.map { "\n  \($0)" }.joined()
    }
  }
}

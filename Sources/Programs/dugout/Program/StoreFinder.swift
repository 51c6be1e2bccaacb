// Stores near a directory that is none: an app's store lies some folders below the one that the app names, and a
// name that was mistyped has a neighbour that is meant.

import Foundation

enum StoreFinder {
  static let foundMax = 5
  private static let depthMax = 3
  private static let lookedAtMax = 1000

  /// Every store has this file.
  static let mark = "MANIFEST"
  /// A backup that was cut off has this one, and says itself what to do.
  private static let backupMark = "BACKUP"

  static func isStore(_ directory: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(directory)/\(mark)")
  }

  /// Whether a backup or a restore into the directory was cut off, so that the next one clears it.
  static func isCutOffCopy(_ directory: String) -> Bool {
    !isStore(directory) && FileManager.default.fileExists(atPath: "\(directory)/\(backupMark)")
  }

  /// Where the directory of a store should be, there is a file.
  static func advice(file path: String) -> String? {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue
    else {
      return nil
    }
    let said = "\(path) is a file, and a store is a directory."
    guard let (store, _) = storeAbove(path) else {
      return "\(said) Look at the path: it names the directory that has the file \(mark)."
    }
    return "\(said) Did you mean \(ShellWord.quoted(store))?"
  }

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

  /// Stores in the same folder whose name is one slip of the finger away.
  private static func stores(near directory: String) -> [String] {
    let path = directory.count > 1 && directory.hasSuffix("/") ? String(directory.dropLast()) : directory
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = start == path.startIndex ? "." : String(path[..<start])
    let name = String(path[start...])
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { other in
      other != name && Wording.areNear(other, name)
        && FileManager.default.fileExists(atPath: "\(folder)/\(other)/\(mark)")
    }.prefix(foundMax).map { path[..<start] + $0 }
  }

  /// A store of which the rest of the name is no folder: somebody has put a path of documents behind it.
  private static func storeAbove(_ directory: String) -> (store: String, rest: String)? {
    var place = directory.lastIndex(of: "/")
    while let slash = place, slash != directory.startIndex {
      let parent = String(directory[..<slash])
      if FileManager.default.fileExists(atPath: "\(parent)/\(mark)") {
        return (parent, String(directory[directory.index(after: slash)...]))
      }
      place = directory[..<slash].lastIndex(of: "/")
    }
    return nil
  }

  /// What to do about a directory that is no store: for a command that makes one, or for one that needs one. Nil where
  /// the error has said it.
  static func advice(_ directory: String, creates: Bool) -> String? {
    guard !FileManager.default.fileExists(atPath: "\(directory)/\(backupMark)") else { return nil }
    if let (store, rest) = storeAbove(directory) {
      return "\(store) is a store; what is in it is named by a word of its own: "
        + "\(ShellWord.quoted(store)) \(ShellWord.quoted(rest))"
    }
    let stores = (stores(below: directory) + stores(near: directory)).map(ShellWord.quoted)
    switch stores.count {
    case 0 where creates: return "Choose an empty or a new directory."
    case 0: return "Look at the path: it names the directory that has the file \(mark)."
    case 1: return "Did you mean \(stores[0])?"
    default: return "Did you mean one of these?" + stores.map { "\n  \($0)" }.joined()
    }
  }
}

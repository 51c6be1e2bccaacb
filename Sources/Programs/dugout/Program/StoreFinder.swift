// Finds stores near a directory that is not a store.
//
// An app's store is some folders below the directory that the app names, and a mistyped name may resemble
// that of a store.

import Foundation

enum StoreFinder {
  static let foundMax = 5
  private static let depthMax = 3
  private static let lookedAtMax = 1000

  /// The file that every store has.
  static let mark = "MANIFEST"
  /// The file that marks an interrupted backup. The error about such a directory already contains advice.
  private static let backupMark = "BACKUP"

  static func isStore(_ directory: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(directory)/\(mark)")
  }

  /// Whether the directory contains an interrupted backup or restore, which the next backup or restore
  /// clears.
  static func isCutOffCopy(_ directory: String) -> Bool {
    !isStore(directory) && FileManager.default.fileExists(atPath: "\(directory)/\(backupMark)")
  }

  /// Returns advice for a path that is a file where a store's directory is expected.
  static func advice(file path: String) -> String? {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue
    else {
      return nil
    }
    let problem = "\(path) is a file, and a store is a directory."
    guard let (store, _) = storeAbove(path) else {
      return "\(problem) Check the path: it names the directory that has the file \(mark)."
    }
    return "\(problem) Did you mean \(ShellWord.quoted(store))?"
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

  /// Returns the stores in the parent folder whose name differs from this directory's name by one typing
  /// error.
  private static func stores(near directory: String) -> [String] {
    let path = directory.count > 1 && directory.hasSuffix("/") ? String(directory.dropLast()) : directory
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = start == path.startIndex ? "." : String(path[..<start])
    let name = String(path[start...])
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { other in
      other != name && Wording.areOneTypoApart(other, name)
        && FileManager.default.fileExists(atPath: "\(folder)/\(other)/\(mark)")
    }.prefix(foundMax).map { path[..<start] + $0 }
  }

  /// Returns the store that a prefix of the path names; the user may have appended a document's path.
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

  /// Returns advice about a directory that is not a store, or nil if the error already contains advice.
  /// `creates` says whether the command creates a store.
  static func advice(_ directory: String, creates: Bool) -> String? {
    guard !FileManager.default.fileExists(atPath: "\(directory)/\(backupMark)") else { return nil }
    if let (store, rest) = storeAbove(directory) {
      return "\(store) is a store; what is in it is named by a separate argument: "
        + "\(ShellWord.quoted(store)) \(ShellWord.quoted(rest))"
    }
    let stores = (stores(below: directory) + stores(near: directory)).map(ShellWord.quoted)
    switch stores.count {
    case 0 where creates: return "Choose an empty or a new directory."
    case 0: return "Check the path: it names the directory that has the file \(mark)."
    case 1: return "Did you mean \(stores[0])?"
    default: return "Did you mean one of these?" + stores.map { "\n  \($0)" }.joined()
    }
  }
}

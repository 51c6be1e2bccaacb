// Announces a store that a command creates, and the directories above it.
//
// A mistyped directory would otherwise be created unnoticed. The announcement goes to standard error,
// because a program may read standard output.

import ByteStore
import Foundation

final class CreationNotice {
  /// The commands that create a store or the directories above one.
  static let commands: Set<String> = ["set", "import", "shell", "backup", "restore"]
  static let option = (
    option: "--create", meaning: "Do not announce a store or directories that the command creates"
  )

  /// Whether the user expects that something is created.
  @TaskLocal static var isSilenced = false

  /// The directory of a store that is missing now; nil if no store is announced.
  private let store: String?
  /// The missing directories above `store`, from the outermost on.
  private let missing: [String]
  private var isPrinted = false

  /// Call this before the store is opened.
  init(ofStore directory: String) {
    store = StoreFinder.isStore(directory) ? nil : directory
    missing = Self.missing(above: directory)
  }

  /// Announces only the directories above `directory`.
  init(above directory: String) {
    store = nil
    missing = Self.missing(above: directory)
  }

  /// Announces what exists by now. Call it again at the end, because a command that fails may leave
  /// directories.
  func printUnlessPrinted() {
    guard !isPrinted, !Self.isSilenced else { return }
    let created = missing.filter { FileManager.default.fileExists(atPath: $0) }
    let newStore = store.flatMap { StoreFinder.isStore($0) ? $0 : nil }
    guard let text = Self.text(store: newStore, directories: created) else { return }
    isPrinted = true
    Terminal.printToStandardError(text)
  }

  static func text(store: String?, directories: [String]) -> String? {
    var names = directories.map { ShellWord.quoted(ShownText.escaped($0)) }
    if names.count > 3 { names.replaceSubrange(1..<names.count - 1, with: ["…"]) }
    let list = names.count < 3 ? names.joined(separator: " and ") : names.joined(separator: ", ")
    let noun = directories.count == 1 ? "directory" : "directories"
    switch (store.map { ShellWord.quoted(ShownText.escaped($0)) }, names.isEmpty) {
    case (let store?, true): return "Created a new store in \(store)."
    case (let store?, false): return "Created a new store in \(store), and the \(noun) above it: \(list)."
    case (nil, false): return "Created the \(noun) \(list)."
    case (nil, true): return nil
    }
  }

  private static func missing(above directory: String) -> [String] {
    var missing: [String] = []
    var place = directory[...]
    while place.count > 1, place.last == "/" { place.removeLast() }
    while let slash = place.lastIndex(of: "/"), slash != place.startIndex {
      place = place[..<slash]
      while place.count > 1, place.last == "/" { place.removeLast() }
      guard StorePath.isValidPath(String(place)), !FileManager.default.fileExists(atPath: String(place))
      else {
        break
      }
      missing.insert(String(place), at: 0)
    }
    return missing
  }
}

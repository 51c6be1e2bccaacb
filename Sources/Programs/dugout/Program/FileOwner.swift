// Explains an access failure by the owner and the mode of a file, and says what to do.
//
// Only a store is changed as a whole. A directory above a store may be a home directory or a directory of the
// system, so the advice never changes its owner.

import Foundation

enum FileOwner {
  /// Returns nil if the owner is unknown, or if neither the owner nor the mode is the cause, as for root.
  /// `store` is the directory of the store that the command uses.
  static func advice(_ path: String, store: String? = nil, user: uid_t = geteuid()) -> String? {
    guard user != 0, let (place, status) = nearestVisible(path) else { return nil }
    let whole = store.flatMap { wholeStore($0, with: place, user: user) }
    guard status.st_uid != user else {
      guard isDenied(to: status) else { return nil }
      let change = whole.map { "-R u+rwX \(ShellWord.quoted($0))" } ?? "u+rwX \(ShellWord.quoted(place))"
      return "\(place) belongs to you, but its permissions deny access: chmod \(change)"
    }
    let holder = name(status.st_uid)
    let start = "\(place) belongs to \(holder), and you are \(name(user)): run the command as \(holder), or "
    guard let whole else { return start + "use a directory that is yours." }
    // A directory that cannot be searched may hold other files, too.
    let isKnown = FileManager.default.fileExists(atPath: "\(whole)/MANIFEST")
    return start + (isKnown ? "make the store yours" : "if \(whole) holds only a store, make it yours")
      + " (sudo chown -R \(login(user) ?? "\(user)") \(ShellWord.quoted(whole)))."
  }

  /// Returns the directory of the store if `place` is this directory or in it, and if the directory may be
  /// changed as a whole: it is neither the root of the file system nor a home directory.
  private static func wholeStore(_ store: String, with place: String, user: uid_t) -> String? {
    var directory = store
    while directory.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    guard place == store || place == directory || place.hasPrefix(directory + "/"),
      let (visible, status) = nearestVisible(directory), visible == directory
    else { return nil }
    let homes = [home(of: user), home(of: status.st_uid), NSHomeDirectory()].compactMap { $0 }
    let real = resolved(directory)
    guard real != "/", !homes.contains(where: { resolved($0) == real }) else { return nil }
    return directory
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
  }

  /// Whether the mode denies its owner an access that a store needs. If it does not, the cause is elsewhere,
  /// for example an access control list or an immutable file.
  private static func isDenied(to status: stat) -> Bool {
    let needed: mode_t = status.st_mode & S_IFMT == S_IFDIR ? 0o700 : 0o600
    return status.st_mode & needed != needed
  }

  /// Returns the path and its status. If the path is not visible, returns its nearest visible ancestor and
  /// that ancestor's status. Symbolic links are followed, because their own owner and mode do not matter.
  private static func nearestVisible(_ path: String) -> (place: String, status: stat)? {
    var place = path
    while true {
      var status = stat()
      if stat(place, &status) == 0 { return (place, status) }
      guard place != "/", place != "." else { return nil }
      guard let slash = place.lastIndex(of: "/") else {
        place = "."
        continue
      }
      place = slash == place.startIndex ? "/" : String(place[..<slash])
    }
  }

  private static func name(_ user: uid_t) -> String { login(user) ?? "user \(user)" }

  private static func login(_ user: uid_t) -> String? {
    guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return nil }
    return String(cString: name)
  }

  private static func home(of user: uid_t) -> String? {
    guard let entry = getpwuid(user), let home = entry.pointee.pw_dir else { return nil }
    return String(cString: home)
  }
}

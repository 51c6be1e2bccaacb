// Explains an access failure by the owner of a file, and says what to do.

import Foundation

enum FileOwner {
  /// Returns nil if the owner is unknown or is not the cause, as for root.
  static func advice(_ path: String, user: uid_t = geteuid()) -> String? {
    guard user != 0, let (place, owner) = owned(path) else { return nil }
    let shown = ShellWord.quoted(place)
    guard owner != user else {
      return "\(place) belongs to you, but its permissions deny access: chmod u+rwX \(shown)"
    }
    let holder = name(owner)
    return "\(place) belongs to \(holder), and you are \(name(user)): run the command as \(holder), "
      + "or make it yours (sudo chown \(login(user) ?? "\(user)") \(shown))."
  }

  /// Returns the path and its owner. If the path is not visible, returns its nearest visible ancestor and
  /// that ancestor's owner.
  private static func owned(_ path: String) -> (place: String, owner: uid_t)? {
    var place = path
    while true {
      var status = stat()
      if lstat(place, &status) == 0 { return (place, status.st_uid) }
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
}

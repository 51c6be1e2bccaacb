// The location of the store of an (app, database) pair.
//
//   directory  = own "/" database
//   own        = root "/" app "/" project
//   root       = FirebaseOptions.directory, or else the platform's data directory + "/dugout/" program
//   program    = the name of the program (ProgramName)
//   app        = "(default)" for the default app, else component
//   project    = component
//   database   = component
//   component  = "(default)" for just this name | "%" for the empty name | 1...255 piece
//   piece      = "a"..."z" | "0"..."9" | "-" | "_" | "%" two of ("0"..."9" | "a"..."f")
//
// Different names have different components, also on a case-insensitive file system (Apple's default),
// because capitals are escaped. No component is "." or "..", and none contains a separator. Strings that are
// equal in Swift have equal components, because the UTF-8 bytes of the composed form (NFC) are escaped.

import Foundation

package enum StoreLocation {
  /// Returns an absolute path. Creates nothing on disk. If the options name no directory, the store may be in
  /// the directory that earlier releases shared between all programs (`DefaultDirectory`).
  ///
  /// Traps for a name whose component exceeds the 255 bytes that file systems allow.
  package static func directory(app: FirebaseApp, database: String) -> String {
    let parts = parts(of: app) + [component("database id", database)]
    if let directory = app.directory { return parts.reduce(directory.path, join) }
    let (root, program) = (sharedRoot, ProgramName.current)
    return DefaultDirectory(
      own: parts.reduce(join(root, program), join), shared: parts.reduce(root, join)
    ).path
  }

  /// Returns the directory of an app, which contains the directories of its databases and what the app keeps
  /// beside them. No component contains a ".", so a file whose name contains one has a name of its own. A
  /// database in the directory of earlier releases is not in this directory. Creates nothing on disk.
  package static func directory(app: FirebaseApp) -> String {
    let root = app.directory?.path ?? join(sharedRoot, ProgramName.current)
    return parts(of: app).reduce(root, join)
  }

  private static func parts(of app: FirebaseApp) -> [String] {
    [
      app.isDefault ? defaultName : component("app name", app.name), component("project id", app.projectID),
    ]
  }

  private static func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : folder + "/" + name
  }

  private static let defaultName = "(default)"
  private static let componentBytesMax = 255

  // MARK: Names

  /// Encodes any text as one path component. The trap message uses `kind` to name the component.
  package static func component(_ kind: String, _ name: String) -> String {
    if name == defaultName { return defaultName }
    if name.isEmpty { return "%" }
    let encoded = name.precomposedStringWithCanonicalMapping.utf8.map(piece).joined()
    if encoded.utf8.count > componentBytesMax {
      ProgrammerError.trap(
        "The \(kind) \"\(name)\" is too long for a directory: it takes \(encoded.utf8.count) bytes,"
          + " \(componentBytesMax) are allowed")
    }
    return encoded
  }

  private static func piece(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      return String(UnicodeScalar(byte))
    default:
      return (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
    }
  }

  // MARK: The default location

  /// The directory that contains the directories of all programs. In earlier releases, it contained the
  /// stores themselves.
  private static var sharedRoot: String {
    #if canImport(Darwin)
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    let support = folders.first?.path ?? NSHomeDirectory() + "/Library/Application Support"
    return join(support, "dugout")
    #else
    return xdgRoot(environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory())
    #endif
  }

  /// Follows the XDG base directory specification, which ignores a relative `XDG_DATA_HOME`.
  package static func xdgRoot(environment: [String: String], home: String) -> String {
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return join(data, "dugout") }
    return join(home, ".local/share/dugout")
  }
}

// Where the store of an (app, database) pair lives.
//
//   directory  = root "/" app "/" project "/" database
//   root       = FirebaseOptions.directory, else the platform's place for data + "/dugout"
//   app        = "(default)" for the default app, else component
//   project    = component
//   database   = component
//   component  = "(default)" for just this name | "%" for the empty name | 1...255 piece
//   piece      = "a"..."z" | "0"..."9" | "-" | "_" | "%" two of ("0"..."9" | "a"..."f")
//
// Different names make different components, also on a file system that does not tell upper from
// lower case (Apple's default), which is why capitals are escaped. No component is "." or "..", and
// none holds a separator. Names that Swift calls equal make equal components: what is escaped are the
// UTF-8 bytes of the composed form (NFC).

import Foundation

package enum StoreLocation {
  /// An absolute path. Makes nothing on disk.
  ///
  /// Traps for a name whose component would exceed the 255 bytes that file systems allow.
  package static func directory(app: FirebaseApp, database: String) -> String {
    let parts = [
      app.isDefault ? defaultName : component("app name", app.name),
      component("project id", app.projectID),
      component("database id", database),
    ]
    return parts.reduce(app.directory?.path ?? defaultRoot, join)
  }

  private static func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : folder + "/" + name
  }

  private static let defaultName = "(default)"
  private static let componentBytesMax = 255

  // MARK: Names

  /// One path component for any text whatsoever. `kind` is for the message of the trap.
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

  // MARK: The default place

  private static var defaultRoot: String {
    #if canImport(Darwin)
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    let support = folders.first?.path ?? NSHomeDirectory() + "/Library/Application Support"
    return join(support, "dugout")
    #else
    return xdgRoot(environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory())
    #endif
  }

  /// By the XDG base directory specification, which has a relative `XDG_DATA_HOME` ignored.
  package static func xdgRoot(environment: [String: String], home: String) -> String {
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return join(data, "dugout") }
    return join(home, ".local/share/dugout")
  }
}

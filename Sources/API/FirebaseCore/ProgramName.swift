// The name of this program, as a path component.
//
//   name       = the bundle identifier, or else the name of the executable, or else the first argument
//   component  = 1...116 piece, for a long name its beginning and a hash
//   piece      = letter | digit | "-" | "_" | "." but not at the start | "%" two hexadecimal digits
//
// The first argument is the last choice, because the parent process chooses it: it can be empty, or the name
// of a shell.

import Foundation

package enum ProgramName {
  /// The component for this program.
  package static var current: String {
    var bundleID: String?
    #if canImport(Darwin)
    bundleID = Bundle.main.bundleIdentifier
    #endif
    return component(bundleID: bundleID, executable: executable, argument: CommandLine.arguments.first)
  }

  /// The path of this program's executable; nil if the system does not tell it.
  private static var executable: String? {
    #if canImport(Darwin)
    Bundle.main.executablePath
    #else
    path(ofLink: "/proc/self/exe")
    #endif
  }

  /// The component for the program of another process, without regard to its bundle; nil if the system does
  /// not tell it.
  package static func ofProcess(_ processID: Int32) -> String? {
    #if os(macOS)
    var path = [UInt8](repeating: 0, count: 4096)
    let count = unsafe proc_pidpath(processID, &path, UInt32(path.count))
    let executable = count > 0 ? String(decoding: path.prefix(Int(count)), as: UTF8.self) : nil
    #elseif canImport(Darwin)
    let executable: String? = nil
    #else
    let executable = path(ofLink: "/proc/\(processID)/exe")
    #endif
    return executable.map { component(bundleID: nil, executable: $0, argument: nil) }
  }

  /// The component for the program of this process, without regard to its bundle. `ofProcess` returns it for
  /// other processes of this program.
  package static var ofThisProcess: String? { ofProcess(ProcessInfo.processInfo.processIdentifier) }

  #if !canImport(Darwin)
  private static func path(ofLink link: String) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: link)
  }
  #endif

  // MARK: Components

  /// Used if a program has no name at all.
  private static let unnamed = "program"
  private static let bytesMax = 116
  /// The mark that Linux appends to the path of an executable that was replaced while the program runs.
  private static let deletedMark = " (deleted)"

  package static func component(bundleID: String?, executable: String?, argument: String?) -> String {
    if let bundleID, !bundleID.isEmpty { return sanitized(bundleID) }
    var names: [String] = []
    if var executable {
      if executable.hasSuffix(deletedMark) { executable.removeLast(deletedMark.count) }
      let name = lastComponent(of: executable)
      // If the dynamic loader was called with the program as its argument, the executable is the loader.
      if !name.hasPrefix("ld-"), !name.hasPrefix("ld.") { names.append(name) }
    }
    // A login shell, and whatever is started in its place, has a hyphen before its name.
    if let argument { names.append(String(lastComponent(of: argument).drop { $0 == "-" })) }
    return sanitized(names.first { !$0.isEmpty } ?? unnamed)
  }

  private static func lastComponent(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? ""
  }

  private static func sanitized(_ name: String) -> String {
    let bytes = Array(name.precomposedStringWithCanonicalMapping.utf8)
    let pieces = bytes.enumerated().map { index, byte in piece(byte, isFirst: index == 0) }
    let encoded = pieces.joined()
    guard encoded.utf8.count > bytesMax else { return encoded }
    // FNV-1a. Names with an equal beginning have different components.
    let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    return encoded.prefix(bytesMax - 17) + "-" + String(hash, radix: 16)
  }

  private static func piece(_ byte: UInt8, isFirst: Bool) -> String {
    switch byte {
    case UInt8(ascii: "."):
      return isFirst ? "%2e" : "."
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      return String(UnicodeScalar(byte))
    default:
      return (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
    }
  }
}

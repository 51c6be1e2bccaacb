// The form of a host that an app sets: a name or an address, with a port or without.

internal import OfflineSync

enum HostName {
  private static let forbidden = Set("/?#@\\%\"<>^`{|}".unicodeScalars)

  /// Throws the reason why a text cannot be a host. Without this check, the host would only seem to be away.
  static func check(_ text: String) throws(RemoteError) {
    guard !text.isEmpty else { throw invalid("The host is empty.") }
    let quoted = text.prefix(200).debugDescription
    if text.contains("://") {
      throw invalid("The host \(quoted) begins with a scheme. It has to be a name without \"https://\".")
    }
    if text.hasPrefix("[") { return try checkBrackets(text, quoted) }
    if let scalar = text.unicodeScalars.first(where: isForbidden) {
      throw invalid("The host \(quoted) has the character \(String(scalar).debugDescription).")
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2 else {
      throw invalid("An address of IPv6 has to be in brackets, as in \"[::1]:8080\". The host is \(quoted).")
    }
    guard !parts[0].isEmpty else { throw invalid("The host before the port is empty: \(quoted).") }
    if parts.count == 2 { try checkPort(parts[1], quoted) }
  }

  /// Whether the host is this machine. Connections to it do not depend on the device's network.
  static func isLoopback(_ text: String) -> Bool {
    let text = text.lowercased()
    if text.hasPrefix("[") { return text.hasPrefix("[::1]") }
    let name = text.prefix { $0 != ":" }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return name == "localhost" || name.hasSuffix(".localhost")
      || numbers.count == 4 && numbers.first == 127 && !numbers.contains(nil)
  }

  private static func checkBrackets(_ text: String, _ quoted: String) throws(RemoteError) {
    let parts = text.dropFirst().split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
    // The name of a network interface may follow the address.
    let address = parts[0].prefix { $0 != "%" }
    let isAddress = address.allSatisfy { $0.isASCII && ($0.isHexDigit || $0 == ":" || $0 == ".") }
    let hasValidZone = !parts[0].unicodeScalars.contains { $0 != "%" && isForbidden($0) }
    guard parts.count == 2, isAddress, hasValidZone, address.count(where: { $0 == ":" }) >= 2,
      parts[1].isEmpty || parts[1].hasPrefix(":")
    else { throw invalid("The host \(quoted) has no address of IPv6 in brackets, as \"[::1]:8080\" has.") }
    if !parts[1].isEmpty { try checkPort(parts[1].dropFirst(), quoted) }
  }

  private static func checkPort(_ text: Substring, _ quoted: String) throws(RemoteError) {
    let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard isNumber, let port = UInt16(text), port > 0 else {
      throw invalid("The host \(quoted) has no port from 1 to 65535 after the colon.")
    }
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || scalar.value == 0x7F || scalar.properties.isWhitespace
      || forbidden.contains(scalar)
  }

  private static func invalid(_ message: String) -> RemoteError { RemoteError(.invalidArgument, message) }
}

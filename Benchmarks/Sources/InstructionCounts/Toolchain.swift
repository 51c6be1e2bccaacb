// The compiler and architecture that counts of instructions depend on.

package struct Toolchain: Equatable, Sendable, CustomStringConvertible {
  package var swiftVersion: String
  package var architecture: String

  package init(swiftVersion: String, architecture: String) {
    self.swiftVersion = swiftVersion
    self.architecture = architecture
  }

  /// Reads the output of `swift --version`; nil if it has another form.
  package init?(versionOutput text: String) {
    func word(after start: String) -> String? {
      guard let range = text.firstRange(of: start) else { return nil }
      let word = text[range.upperBound...].prefix { $0.isLetter || $0.isNumber || "._-".contains($0) }
      return word.isEmpty ? nil : String(word)
    }
    guard let version = word(after: "Swift version "), let target = word(after: "Target: "),
      let architecture = target.split(separator: "-").first
    else { return nil }
    self.init(swiftVersion: version, architecture: String(architecture))
  }

  package var pinsFileName: String { "swift-\(swiftVersion)-\(architecture).txt" }
  package var description: String { "Swift \(swiftVersion), \(architecture)" }
}

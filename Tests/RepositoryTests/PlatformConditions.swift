// The platforms for which a line is compiled, from the conditional compilation around it.

/// A condition of `#if`, in Swift or in C.
struct PlatformCondition {
  private var words: [String]

  /// Returns the platforms for which a condition may hold. A condition about something else than the platform
  /// may hold for all of them.
  static func platforms(_ condition: String) -> Set<SourcePlatform> {
    var parser = PlatformCondition(words: tokens(condition))
    return parser.either().positive
  }

  /// Returns the platforms for which a condition may be false.
  static func platformsWithout(_ condition: String) -> Set<SourcePlatform> {
    var parser = PlatformCondition(words: tokens(condition))
    return parser.either().negative
  }

  /// The platforms for which an expression may be true, and those for which it may be false.
  private struct Range {
    var positive: Set<SourcePlatform>
    var negative: Set<SourcePlatform>

    static let unknown = Range(positive: SourcePlatform.all, negative: SourcePlatform.all)

    init(positive: Set<SourcePlatform>, negative: Set<SourcePlatform>) {
      self.positive = positive
      self.negative = negative
    }

    init(exactly platforms: Set<SourcePlatform>) {
      self.init(positive: platforms, negative: SourcePlatform.all.subtracting(platforms))
    }
  }

  private static func tokens(_ condition: String) -> [String] {
    condition.matches(of: #/\w+|\|\||&&|[!()<>=.,]+?/#).map { String($0.output) }
  }

  private mutating func next() -> String? { words.isEmpty ? nil : words.removeFirst() }

  private mutating func take(_ word: String) -> Bool {
    guard words.first == word else { return false }
    words.removeFirst()
    return true
  }

  private mutating func either() -> Range {
    var range = both()
    while take("||") {
      let other = both()
      range = Range(
        positive: range.positive.union(other.positive), negative: range.negative.intersection(other.negative))
    }
    return range
  }

  private mutating func both() -> Range {
    var range = term()
    while take("&&") {
      let other = term()
      range = Range(
        positive: range.positive.intersection(other.positive), negative: range.negative.union(other.negative))
    }
    return range
  }

  private mutating func term() -> Range {
    if take("!") {
      let range = term()
      return Range(positive: range.negative, negative: range.positive)
    }
    if take("(") {
      let range = either()
      _ = take(")")
      return range
    }
    guard let name = next() else { return .unknown }
    guard ["os", "canImport", "defined", "compiler", "swift", "arch"].contains(name) else {
      return Self.macro(name)
    }
    // The argument of `defined` may stand without parentheses.
    guard take("(") else { return next().map(Self.macro) ?? .unknown }
    let argument = next() ?? ""
    while let word = next(), word != ")" {}
    return name == "defined" ? Self.macro(argument) : Self.swift(name, argument)
  }

  private static func swift(_ function: String, _ argument: String) -> Range {
    switch (function, argument) {
    case ("os", "Linux"): Range(exactly: SourcePlatform.linux)
    case ("os", "Android"), ("canImport", "Android"), ("canImport", "Bionic"): Range(exactly: [.android])
    case ("os", "Windows"), ("os", "WASI"), ("canImport", "WASILibc"), ("canImport", "ucrt"):
      Range(exactly: [])
    case ("canImport", "Glibc"): Range(exactly: [.glibc])
    case ("canImport", "Musl"): Range(exactly: [.musl])
    case ("canImport", "Darwin"), ("canImport", "ObjectiveC"): Range(exactly: [.darwin])
    case ("os", _), ("canImport", "SwiftUI"), ("canImport", "UIKit"), ("canImport", "AppKit"),
      ("canImport", "Combine"), ("canImport", "OSLog"):
      // One of Apple's systems, but not all of them.
      Range(positive: [.darwin], negative: SourcePlatform.all)
    default: .unknown
    }
  }

  private static func macro(_ name: String) -> Range {
    switch name {
    case "__linux__", "__linux": Range(exactly: SourcePlatform.linuxAndAndroid)
    case "__ANDROID__", "__BIONIC__": Range(exactly: [.android])
    case "__GLIBC__": Range(exactly: [.glibc])
    case "__APPLE__": Range(exactly: [.darwin])
    default:
      // A test for a listed macro is a test for the platforms that have it.
      PlatformSymbols.platforms(of: name).map { Range(positive: $0, negative: SourcePlatform.all) }
        ?? .unknown
    }
  }

  // MARK: Lines

  /// Returns, for each line of a text without comments, the platforms for which the line is compiled.
  static func platformsByLine(_ code: String) -> [Set<SourcePlatform>] {
    /// The platforms of the open branch, and those for which no branch of its `#if` was taken so far.
    var open: [(branch: Set<SourcePlatform>, rest: Set<SourcePlatform>)] = []
    return code.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard let directive = line.trimmed.wholeMatch(of: #/#\s*(\w+)\s*(.*)/#) else {
        return open.reduce(SourcePlatform.all) { $0.intersection($1.branch) }
      }
      let condition = String(directive.2)
      switch directive.1 {
      case "if": open.append((platforms(condition), platformsWithout(condition)))
      case "ifdef":
        open.append((platforms("defined(\(condition))"), platformsWithout("defined(\(condition))")))
      case "ifndef":
        open.append((platformsWithout("defined(\(condition))"), platforms("defined(\(condition))")))
      case "elseif", "elif":
        guard let last = open.popLast() else { break }
        open.append(
          (last.rest.intersection(platforms(condition)), last.rest.intersection(platformsWithout(condition))))
      case "else": if let last = open.popLast() { open.append((last.rest, [])) }
      case "endif": _ = open.popLast()
      default: break
      }
      return open.reduce(SourcePlatform.all) { $0.intersection($1.branch) }
    }
  }
}

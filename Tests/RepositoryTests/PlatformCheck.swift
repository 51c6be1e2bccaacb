// Checks that no line uses a symbol that one of its platforms does not have.

import Foundation

enum PlatformCheck {
  /// Files that name paths of Linux in strings without a condition, and why other systems bear that.
  static let pathExemptions = [
    "Sources/Engine/ByteStore/Memory/ControlGroup.swift": "Without these files there is no control group.",
    "Sources/Engine/ByteStore/Memory/MemoryGauge.swift":
      "Without this file, the machine's memory is unknown.",
    "Sources/Programs/dugout/Import/DocumentSource.swift": "The names are only compared with an argument.",
    "Sources/Programs/dugout/Output/ExportFile.swift": "The names are only compared with an argument.",
  ]

  /// Returns the violations of the Swift files and of the given files in C, by path.
  static func violations(in tree: RepositoryTree, c files: [String: String] = [:]) -> [Violation] {
    let swift = tree.texts(below: "Sources/", withSuffix: ".swift").flatMap { path in
      let text = tree.texts[path] ?? ""
      guard mayUseSymbols(text) else { return paths(path, text) }
      return symbols(path, text, isC: false) + imports(path, text) + paths(path, text)
    }
    let c = files.keys.sorted().flatMap { path in
      let text = files[path] ?? ""
      return symbols(path, text, isC: true) + headers(path, text)
    }
    return swift + c
  }

  /// Whether a Swift file can see the C library, or names a type of the standard library that may be missing.
  /// Splitting all other files into tokens would take long.
  private static func mayUseSymbols(_ text: String) -> Bool {
    let modules = ["Libc", "Glibc", "Musl", "Darwin", "Android", "Foundation", "Dispatch", "C"]
    return modules.contains { text.contains("import \($0)") }
      || PlatformSymbols.newTypes.contains { text.contains($0) }
  }

  private static func symbols(_ path: String, _ text: String, isC: Bool) -> [Violation] {
    let source = SwiftSource(text)
    let lines = PlatformCondition.platformsByLine(source.code)
    let directives = Set(
      source.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        .filter { $0.element.trimmed.hasPrefix("#") }.map { $0.offset + 1 })
    let tokens = source.tokens()
    return tokens.enumerated().compactMap { index, token in
      guard token.isIdentifier, !directives.contains(token.line),
        let platforms = PlatformSymbols.platforms(of: token.text)
      else { return nil }
      let before = index > 0 ? tokens[index - 1].text : ""
      // Members and declarations of our own may have such names. The fields of `stat` are members of C.
      let isOwn =
        ["case", "func", "var", "let"].contains(before)
        || (before == "." && !token.text.hasPrefix("st_"))
      guard isC || !isOwn else { return nil }
      // A word such as `splice` is only a call if an argument list follows.
      let isWord = token.text.allSatisfy { $0.isLowercase }
      let isCall = index + 1 < tokens.count && tokens[index + 1].text == "("
      guard !isWord || isCall else { return nil }
      return violation(path, token.line, token.text, lines[token.line - 1].subtracting(platforms))
    }
  }

  /// The modules of C libraries are imported only where they exist.
  private static func imports(_ path: String, _ text: String) -> [Violation] {
    let source = SwiftSource(text)
    let lines = PlatformCondition.platformsByLine(source.code)
    return SwiftImport.all(in: source).compactMap { found in
      guard let platform = SourcePlatform(rawValue: found.module) else { return nil }
      return violation(
        path, found.line, "the module \(found.module)", lines[found.line - 1].subtracting([platform]))
    }
  }

  /// `/proc` and `/sys` exist on Linux and Android.
  private static func paths(_ path: String, _ text: String) -> [Violation] {
    guard pathExemptions[path] == nil, text.contains("\"/proc/") || text.contains("\"/sys/") else {
      return []
    }
    let code = SwiftSource(text, keepingStrings: true).code
    let lines = PlatformCondition.platformsByLine(code)
    return code.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
      index, line in
      guard line.contains(#/"\/(proc|sys)\//#) else { return nil }
      let missing = lines[index].subtracting(SourcePlatform.linuxAndAndroid)
      return violation(path, index + 1, "a path of Linux", missing)
    }
  }

  private static func headers(_ path: String, _ text: String) -> [Violation] {
    let lines = PlatformCondition.platformsByLine(text)
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
      index, line in
      guard let match = line.trimmed.wholeMatch(of: #/#\s*include\s*<([^>]+)>.*/#),
        let platforms = PlatformSymbols.platforms(ofHeader: String(match.1))
      else { return nil }
      return violation(path, index + 1, "the header \(match.1)", lines[index].subtracting(platforms))
    }
  }

  private static func violation(
    _ path: String, _ line: Int, _ name: String, _ missing: Set<SourcePlatform>
  ) -> Violation? {
    guard !missing.isEmpty else { return nil }
    let names = missing.map(\.rawValue).sorted().joined(separator: ", ")
    return Violation(path: path, line: line, sentence: "It uses \(name), which does not exist on \(names).")
  }
}

extension RepositoryTree {
  /// Reads the sources in C.
  static func cSources() throws -> [String: String] {
    let folder = root.appendingPathComponent("Sources")
    guard let walk = FileManager.default.enumerator(atPath: folder.path) else {
      throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: folder.path])
    }
    var texts: [String: String] = [:]
    while let path = walk.nextObject() as? String {
      guard path.hasSuffix(".c") || path.hasSuffix(".h") else { continue }
      texts["Sources/\(path)"] = try String(
        contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
    }
    return texts
  }
}

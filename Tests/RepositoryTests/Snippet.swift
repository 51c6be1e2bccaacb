// A Swift example on a page. The example is one code fence, or several code fences of which each fence after
// the first continues the previous one.

struct Snippet {
  /// The page's path relative to the root of the repository.
  var page: String
  var fences: [MarkdownPage.Fence]

  /// Returns the snippets of a page to compile. A comment on the line before a fence controls this:
  ///
  ///     <!-- snippet: not compiled: REASON -->
  ///     <!-- snippet: continues -->
  static func all(on path: String, text: String) -> (snippets: [Snippet], violations: [Violation]) {
    var snippets: [Snippet] = []
    var violations: [Violation] = []
    var lastIsCompiled = false
    for fence in MarkdownPage(text).fences where fence.language == "swift" {
      func report(_ sentence: String) {
        violations.append(Violation(path: path, line: fence.line, sentence: sentence))
      }
      if !fence.isClosed { report("The code fence is not closed.") }
      switch Instruction(fence.precedingLine) {
      case .compiled where fence.lines.contains { $0.trimmed == "import PackageDescription" }:
        report("A manifest is no snippet: write `<!-- snippet: not compiled: REASON -->` before it.")
        lastIsCompiled = false
      case .compiled:
        snippets.append(Snippet(page: path, fences: [fence]))
        lastIsCompiled = true
      case .continues where lastIsCompiled:
        snippets[snippets.count - 1].fences.append(fence)
      case .continues:
        report("The snippet continues nothing that is compiled.")
      case .notCompiled(let reason):
        if reason.isEmpty { report("The snippet is not compiled, without a reason.") }
        lastIsCompiled = false
      case .unknown(let text):
        report("`\(text)` is not a known directive.")
        lastIsCompiled = false
      }
    }
    return (snippets, violations)
  }

  private enum Instruction {
    case compiled
    case continues
    case notCompiled(reason: String)
    case unknown(String)

    init(_ line: String) {
      guard line.firstMatch(of: #/^<!--\s*snippet\b/#) != nil else {
        self = .compiled
        return
      }
      if line.wholeMatch(of: #/<!--\s*snippet:\s*continues\s*-->/#) != nil {
        self = .continues
      } else if let match = line.wholeMatch(of: #/<!--\s*snippet:\s*not compiled\s*:?\s*(.*?)\s*-->/#) {
        self = .notCompiled(reason: String(match.1))
      } else {
        self = .unknown(line)
      }
    }
  }
}

// A Markdown page as GitHub reads it, limited to links, headings and code fences.

struct MarkdownPage {
  struct Fence {
    /// The first word after the opening backticks, such as `swift`.
    var language: String
    /// The lines without the indentation of the opening line.
    var lines: [String]
    /// The line of the opening backticks, counted from 1. The code starts on the next line.
    var line: Int
    /// The last nonempty line before the fence.
    var precedingLine: String
    var isClosed: Bool
  }

  struct Link {
    var target: String
    /// Counted from 1.
    var line: Int
  }

  private(set) var fences: [Fence] = []
  private(set) var links: [Link] = []
  /// The anchors to which `#…` links can point: slugs of headings, and explicit HTML ids.
  private(set) var anchors: Set<String> = []

  init(_ text: String) {
    var prose: [(text: String, line: Int)] = []
    var open: Fence?
    var marker = ""
    var indentation = 0
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if var fence = open {
        let trimmed = line.trimmed
        if trimmed.hasPrefix(marker), trimmed.allSatisfy({ $0 == marker.first }) {
          fences.append(fence)
          open = nil
        } else {
          let indent = line.prefix(indentation).prefix { $0 == " " }.count
          fence.lines.append(String(line.dropFirst(indent)))
          open = fence
        }
      } else if let match = line.wholeMatch(of: #/(\s*)(`{3,}|~{3,})\s*([^\s`]*)[^`]*/#) {
        let before = prose.last { !$0.text.trimmed.isEmpty && $0.line > (fences.last?.endLine ?? 0) }
        marker = String(match.2)
        indentation = match.1.count
        open = Fence(
          language: String(match.3), lines: [], line: index + 1,
          precedingLine: before.map { String($0.text.trimmed) } ?? "", isClosed: true)
      } else {
        prose.append((String(line), index + 1))
      }
    }
    if var fence = open {
      fence.isClosed = false
      fences.append(fence)
    }
    readAnchors(prose)
    for (text, line) in prose { readLinks(text, line: line) }
  }

  private mutating func readAnchors(_ prose: [(text: String, line: Int)]) {
    var counts: [String: Int] = [:]
    func addHeading(_ text: Substring) {
      let slug = Self.slug(of: text)
      let count = counts[slug, default: 0]
      counts[slug] = count + 1
      anchors.insert(count == 0 ? slug : "\(slug)-\(count)")
    }
    for (index, (text, line)) in prose.enumerated() {
      if let match = text.wholeMatch(of: #/ {0,3}#{1,6}\s+(.*?)\s*#*\s*/#) {
        addHeading(match.1)
      } else if index > 0, text.wholeMatch(of: #/ {0,3}(=+|-+)\s*/#) != nil,
        prose[index - 1].line == line - 1,
        let title = prose[index - 1].text.wholeMatch(of: #/\s*([^\s#|<>*-].*)/#)
      {
        addHeading(title.1)
      }
      for match in text.matches(of: #/<\w+[^>]*\b(?:id|name)="([^"]+)"/#) { anchors.insert(String(match.1)) }
    }
  }

  /// Returns the slug by GitHub's rule: the rendered text in lower case, without punctuation, and with
  /// hyphens for spaces.
  static func slug(of heading: Substring) -> String {
    var text = String(heading)
    text = text.replacing(#/!?\[([^\]]*)\]\([^)]*\)/#) { $0.1 }
    text = text.replacing(#/<\/?[a-zA-Z][^>]*>/#, with: "")
    text = text.replacing(#/(?:^|\b)_([^_]+)_(?:$|\b)/#) { $0.1 }
    let kept = text.lowercased().trimmed.filter {
      $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_"
    }
    return kept.replacing(" ", with: "-")
  }

  private mutating func readLinks(_ text: String, line: Int) {
    let text = text.replacing(#/(`+)(?:(?!\1).)+\1(?!`)/#, with: "`")
    let targets =
      text.matches(of: #/\]\(\s*(?:<([^>]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+["'(][^)]*)?\s*\)/#)
      .map { $0.1 ?? $0.2 ?? "" }
      + text.matches(of: #/<\w+[^>]*\b(?:href|src|srcset)=["']([^"']*)["']/#).map(\.1)
      + text.matches(of: #/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/#).map(\.1)
    links += targets.map { Link(target: String($0), line: line) }
  }
}

extension MarkdownPage.Fence {
  /// The line of the closing backticks.
  var endLine: Int { line + lines.count + 1 }
}

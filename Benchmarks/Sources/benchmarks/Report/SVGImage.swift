// An SVG image for light and dark pages.

import Foundation

struct SVGImage {
  var title: String
  var width = 760.0
  var height: Double
  var body: [String] = []

  /// Returns the SVG text. A standalone image defines its colours. An embedded image uses the colours of the
  /// page.
  func text(isAlone: Bool) -> String {
    let style =
      isAlone ? "<style>svg{\(Self.light)}@media(prefers-color-scheme:dark){svg{\(Self.dark)}}</style>" : ""
    let ground =
      isAlone ? "<rect x=\"-12\" width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>" : ""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 0 \(n(width + 24)) \(n(height))" role="img" \
      font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">
      <title>\(title.escaped)</title>\(style)\(ground)
      \(body.joined(separator: "\n"))
      </svg>

      """
  }

  static let light = """
    --ground:#fcfcfb;--ink:#1c2430;--quiet:#667180;--line:#dfe3e8;--ours:#0e7c66;--ours-soft:#8cc7b9;--peer:#aab4c0;\
    --goal:#b4530a;--limit:#5b6472;--good:#0e7c66;--bad:#b4530a;--c1:#3566b0;--c2:#9255a8;--c3:#b98a00;--c4:#b8475a;\
    --c5:#5f7d2e;--c6:#4a97b8;
    """
  static let dark = """
    --ground:#14181d;--ink:#e8ecf0;--quiet:#97a2af;--line:#2b333c;--ours:#3fc9a8;--ours-soft:#1f6d5c;--peer:#56616d;\
    --goal:#f0953f;--limit:#a3adb8;--good:#3fc9a8;--bad:#f0953f;--c1:#7aa5ee;--c2:#c58fe0;--c3:#dfb648;--c4:#ee8797;\
    --c5:#a5c76b;--c6:#7cc6e6;
    """

  // MARK: Drawing

  mutating func text(
    _ text: String, x: Double, y: Double, color: String = "ink", anchor: String = "start", size: Double = 13,
    isBold: Bool = false
  ) {
    body.append(
      "<text x=\"\(n(x))\" y=\"\(n(y))\" text-anchor=\"\(anchor)\" font-size=\"\(n(size))\" "
        + "font-weight=\"\(isBold ? 600 : 400)\" style=\"fill:var(--\(color));stroke:var(--ground)\" stroke-width=\"4\" paint-order=\"stroke\">"
        + "\(text.escaped)</text>")
  }

  mutating func bar(x: Double, y: Double, width: Double, height: Double, color: String, note: String) {
    body.append(
      "<rect x=\"\(n(x))\" y=\"\(n(y))\" width=\"\(n(max(width, 1)))\" height=\"\(n(height))\" rx=\"2\" "
        + "style=\"fill:var(--\(color))\"><title>\(note.escaped)</title></rect>")
  }

  mutating func line(
    _ from: (x: Double, y: Double), _ to: (x: Double, y: Double), color: String, width: Double = 1,
    dash: String = ""
  ) {
    let dashes = dash.isEmpty ? "" : " stroke-dasharray=\"\(dash)\""
    body.append(
      "<line x1=\"\(n(from.x))\" y1=\"\(n(from.y))\" x2=\"\(n(to.x))\" y2=\"\(n(to.y))\" "
        + "stroke-width=\"\(n(width))\"\(dashes) style=\"stroke:var(--\(color))\"/>")
  }

  mutating func curve(_ points: [(x: Double, y: Double)], color: String, width: Double, note: String) {
    let path = points.map { "\(n($0.x)),\(n($0.y))" }.joined(separator: " ")
    body.append(
      "<polyline points=\"\(path)\" fill=\"none\" stroke-linejoin=\"round\" stroke-width=\"\(n(width))\" "
        + "style=\"stroke:var(--\(color))\"><title>\(note.escaped)</title></polyline>")
    for point in points {
      body.append(
        "<circle cx=\"\(n(point.x))\" cy=\"\(n(point.y))\" r=\"\(n(width + 1))\" style=\"fill:var(--\(color))\"/>"
      )
    }
  }

  private func n(_ value: Double) -> String { String(format: "%.1f", value) }
}

extension String {
  var escaped: String {
    replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
  }
}

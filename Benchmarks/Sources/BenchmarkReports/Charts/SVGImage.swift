// An SVG image for light and dark pages.

import Foundation

package struct SVGImage: Sendable {
  package var title: String
  /// The content in words, for readers who do not see the image.
  package var description = ""
  package var width: Double
  package var height: Double
  private var body: [String] = []

  /// The space to the left and to the right of the content.
  private static let margin = 12.0
  package static let font =
    "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"

  package init(title: String, width: Double = 400, height: Double = 0) {
    self.title = title
    self.width = width
    self.height = height
  }

  /// Returns the SVG text. A standalone image defines its colours. An embedded image uses the colours of the
  /// page.
  package func text(isAlone: Bool) -> String {
    let margin = isAlone ? Self.margin : 0
    let words = description.isEmpty ? "" : "<desc>\(description.escaped)</desc>"
    let style = isAlone ? "<style>\(Palette.standaloneRules)</style>" : ""
    let ground =
      isAlone ? "<rect x=\"\(n(-margin))\" width=\"100%\" height=\"100%\" class=\"f-ground\"/>" : ""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="\(n(-margin)) 0 \(n(width + 2 * margin)) \(n(height))" role="img" \
      font-family="\(Self.font)">
      <title>\(title.escaped)</title>\(words)\(style)\(ground)
      \(body.joined(separator: "\n"))
      </svg>

      """
  }

  // MARK: Drawing

  /// Draws text. The text has a border in the colour of the ground, so that lines behind it do not disturb.
  package mutating func text(
    _ text: String, x: Double, y: Double, color: String = "ink", anchor: String = "start", size: Double = 13,
    isBold: Bool = false
  ) {
    let place = "x=\"\(n(x))\" y=\"\(n(y))\"" + (anchor == "start" ? "" : " text-anchor=\"\(anchor)\"")
    let weight = isBold ? " font-weight=\"600\"" : ""
    body.append(
      "<text \(place) font-size=\"\(n(size))\"\(weight) class=\"f-\(color) s-ground\" stroke-width=\"3\" "
        + "paint-order=\"stroke\">\(text.escaped)</text>")
  }

  package mutating func bar(
    x: Double, y: Double, width: Double, height: Double, color: String, note: String
  ) {
    body.append(
      "<rect x=\"\(n(x))\" y=\"\(n(y))\" width=\"\(n(max(width, 1)))\" height=\"\(n(height))\" rx=\"2\" "
        + "class=\"f-\(color)\"><title>\(note.escaped)</title></rect>")
  }

  package mutating func ring(x: Double, y: Double, radius: Double, color: String, note: String) {
    body.append(
      "<circle cx=\"\(n(x))\" cy=\"\(n(y))\" r=\"\(n(radius))\" class=\"f-ground s-\(color)\" "
        + "stroke-width=\"1.5\"><title>\(note.escaped)</title></circle>")
  }

  package mutating func line(
    _ from: (x: Double, y: Double), _ to: (x: Double, y: Double), color: String, width: Double = 1,
    dash: String = ""
  ) {
    let dashes = dash.isEmpty ? "" : " stroke-dasharray=\"\(dash)\""
    body.append(
      "<line x1=\"\(n(from.x))\" y1=\"\(n(from.y))\" x2=\"\(n(to.x))\" y2=\"\(n(to.y))\" "
        + "stroke-width=\"\(n(width))\"\(dashes) class=\"s-\(color)\"/>")
  }

  package mutating func curve(
    _ points: [(x: Double, y: Double)], color: String, width: Double, note: String
  ) {
    let path = points.map { "\(n($0.x)),\(n($0.y))" }.joined(separator: " ")
    body.append(
      "<polyline points=\"\(path)\" fill=\"none\" stroke-linejoin=\"round\" stroke-width=\"\(n(width))\" "
        + "class=\"s-\(color)\"><title>\(note.escaped)</title></polyline>")
    for point in points {
      body.append(
        "<circle cx=\"\(n(point.x))\" cy=\"\(n(point.y))\" r=\"\(n(width + 1))\" class=\"f-\(color)\"/>")
    }
  }

  /// Draws another image below the content.
  package mutating func append(_ image: SVGImage) {
    body.append("<g transform=\"translate(0 \(n(height)))\">")
    body += image.body
    body.append("</g>")
    height += image.height
  }

  private func n(_ value: Double) -> String { Self.number(value) }

  /// Formats a length with at most one decimal.
  static func number(_ value: Double) -> String {
    let text = String(format: "%.1f", value)
    guard text.hasSuffix(".0") else { return text }
    return text == "-0.0" ? "0" : String(text.dropLast(2))
  }
}

extension String {
  package var escaped: String {
    replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
  }
}

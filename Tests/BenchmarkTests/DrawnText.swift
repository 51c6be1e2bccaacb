// The texts of an SVG image, with their places and an estimate of their widths.

import Foundation

struct DrawnText {
  var text: String
  var size: Double
  /// The horizontal range of the text, in the coordinates of the image.
  var range: ClosedRange<Double>
  var y: Double

  /// Reads the texts of an image, in order. Shifts of groups count.
  static func all(in svg: String) throws -> [DrawnText] {
    let pattern = try Regex(#"<g transform="translate\(0 ([\d.]+)\)">|</g>|<text ([^>]*)>([^<]*)</text>"#)
    var shifts = [0.0]
    return try svg.matches(of: pattern).compactMap { match in
      if let shift = match.output[1].substring {
        shifts.append(shifts[shifts.count - 1] + (Double(shift) ?? 0))
        return nil
      }
      guard let attributes = match.output[2].substring, let text = match.output[3].substring else {
        shifts.removeLast()
        return nil
      }
      return try DrawnText(attributes, unescaped(text), shift: shifts[shifts.count - 1])
    }
  }

  private init(_ attributes: Substring, _ text: String, shift: Double) throws {
    func value(_ name: String) throws -> String {
      let pattern = try Regex("(?:^| )\(name)=\"([^\"]*)\"")
      return String(attributes.firstMatch(of: pattern)?.output[1].substring ?? "")
    }
    self.text = text
    size = Double(try value("font-size")) ?? 0
    y = shift + (Double(try value("y")) ?? 0)
    let boldness: Double = try value("font-weight").isEmpty ? 1 : 1.1
    let width: Double = Self.width(text) * size * boldness
    let x: Double = Double(try value("x")) ?? 0
    let parts: [String: Double] = ["end": 1, "middle": 0.5]
    let left: Double = x - width * (parts[try value("text-anchor")] ?? 0)
    range = left...(left + width)
  }

  /// The width of a text in DejaVu Sans, one of the widest fonts of the list, as a part of its size.
  private static func width(_ text: String) -> Double { text.reduce(0) { $0 + width($1) } }

  private static func width(_ letter: Character) -> Double {
    switch letter {
    case "i", "j", "l", "'", ".", ",", " ", ":": 0.32
    case "f", "r", "t", "(", ")", "-": 0.40
    case "m", "w", "M", "W": 0.95
    case "s", "c", "z": 0.54
    case "×": 0.84
    default: letter.isUppercase ? 0.70 : 0.635
    }
  }

  private static func unescaped(_ text: Substring) -> String {
    text.replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
      .replacingOccurrences(of: "&quot;", with: "\"").replacingOccurrences(of: "&amp;", with: "&")
  }

  /// The first two numbers of the view box: its left end and its width.
  static func viewBox(_ svg: String) throws -> ClosedRange<Double> {
    let pattern = try Regex(#"viewBox="([-\d.]+) 0 ([\d.]+) "#)
    let match = svg.firstMatch(of: pattern)
    let numbers = [1, 2].map { Double(match?.output[$0].substring ?? "") ?? 0 }
    return numbers[0]...(numbers[0] + numbers[1])
  }
}

// Columns of text: the first one starts at the left, all others end at the right.

enum TextColumns {
  static func text(_ lines: [[String]]) -> String {
    var widths: [Int] = []
    for line in lines {
      for (column, word) in line.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], word.count)
      }
    }
    return lines.map { line in
      var text = ""
      for (column, word) in line.enumerated() {
        let space = String(repeating: " ", count: widths[column] - word.count)
        text += column == 0 ? word + space : "  " + space + word
      }
      while text.last == " " { text.removeLast() }
      return text + "\n"
    }.joined()
  }
}

enum FixedPoint {
  /// The number with one decimal.
  static func text(_ number: Double) -> String {
    let tenths = (number * 10).rounded()
    let whole = (tenths / 10).rounded(.towardZero)
    let sign = tenths < 0 && whole == 0 ? "-" : ""
    return "\(sign)\(Int(whole)).\(Int(abs(tenths - whole * 10)))"
  }
}

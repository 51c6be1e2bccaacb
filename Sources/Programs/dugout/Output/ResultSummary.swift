// The last line below a table: how much is shown, out of how much, and what is hidden.

/// Parts that are nil or 0 are left out of the line.
struct ResultSummary {
  /// The number of rows.
  var shown: Int
  /// The name of one row, and of many.
  var noun = ("document", "documents")
  var total = ResultPart.Total.exactly(0)
  var offset = 0
  var hiddenFields = 0
  /// The options that show the hidden fields.
  var howToShow = "--fields or --json"
  /// More sentences, without their full stops.
  var remarks: [String?] = []

  var text: String {
    ([counts] + hidden + remarks.compactMap { $0 }).joined(separator: "; ")
  }

  private var counts: String {
    let isPlural: Bool
    let all: String
    let isComplete: Bool
    switch total {
    case .exactly(let count):
      (all, isPlural, isComplete) = ("\(count)", count != 1, count <= shown)
    case .moreThan(let count):
      (all, isPlural, isComplete) = ("more than \(count)", true, false)
    }
    let noun = isPlural ? noun.1 : noun.0
    guard shown > 0 else {
      return offset == 0 || all == "0"
        ? "no \(self.noun.1)" : "no \(self.noun.1) after the first \(offset), of \(all)"
    }
    guard !isComplete else { return "\(shown) \(noun)" }
    return "\(shown) of \(all) \(noun)" + (offset > 0 ? ", after the first \(offset)" : "")
  }

  private var hidden: [String] {
    hiddenFields == 0 ? [] : ["\(Wording.count(hiddenFields, "field")) hidden (use \(howToShow))"]
  }
}

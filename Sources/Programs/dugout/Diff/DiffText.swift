// The differences of two stores as text and as JSON.

import DocumentStore
import Foundation

extension StoreDifference {
  /// One line for the document, and one for each field. Long values are cut to the width, of which the last
  /// column stays empty; nil is unlimited.
  func text(width: Int?) -> String {
    let sign =
      switch change {
      case .added: "+"
      case .removed: "-"
      case .changed: "~"
      }
    let name = (item.kind == .file ? "file " : "") + item.name
    return
      (["\(sign) \(name)"] + fields.map { Self.line($0, colon: ":", width: width) }
      + times.map { Self.line($0, colon: "", width: width) }).joined(separator: "\n")
  }

  private static func line(_ change: FieldChange, colon: String, width: Int?) -> String {
    let field = ShownText.escaped(change.field)
    switch (change.before.map(ValueLiteral.text), change.after.map(ValueLiteral.text)) {
    case (let before?, let after?):
      let start = "    \(field)\(colon) "
      let room = width.map { max(20, $0 - start.columns - 5) } ?? .max
      let (old, new) = ValueLiteral.shortened(before, after, toColumns: room)
      return "\(start)\(old) -> \(new)"
    case (let before?, nil): return cut("  - \(field)\(colon) \(before)", width)
    case (nil, let after?): return cut("  + \(field)\(colon) \(after)", width)
    case (nil, nil): return "    \(field)"
    }
  }

  private static func cut(_ line: String, _ width: Int?) -> String {
    width.map { line.shortened(toColumns: max(20, $0 - 1)) } ?? line
  }

  var object: JSON {
    var object: JSON = ["change": change.rawValue, item.kind == .file ? "file" : "path": item.name]
    switch change {
    case .added, .removed:
      object["fields"] = DocumentJSON.object(of: .map(item.fields))["mapValue"]?["fields"]
    case .changed: object["fields"] = fields.map(Self.object).json
    }
    if !times.isEmpty { object["times"] = times.map(Self.object).json }
    return object
  }

  private static func object(_ change: FieldChange) -> JSON {
    var object: JSON = ["field": change.field]
    if let before = change.before { object["before"] = DocumentJSON.object(of: before) }
    if let after = change.after { object["after"] = DocumentJSON.object(of: after) }
    return object
  }
}

extension StoreDiff.Counts {
  var object: JSON { ["added": added, "removed": removed, "changed": changed, "equal": equal] }

  /// `noun` is the singular of what is counted.
  func sentence(_ noun: String) -> String {
    guard different > 0 else { return "\(Wording.count(equal, noun)) \(equal == 1 ? "is" : "are") equal." }
    let parts = [(added, "added"), (removed, "removed"), (changed, "changed")].filter { $0.0 > 0 }
    return "\(Wording.count(different, noun)) \(different == 1 ? "differs" : "differ"): "
      + parts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
      + "; \(equal) \(equal == 1 ? "is" : "are") equal."
  }
}

extension StoreDiff.Outcome {
  var text: String {
    let counts = documents.sentence("document")
    return files == StoreDiff.Counts() ? counts : counts + "\n" + files.sentence("file")
  }

  var object: JSON {
    var object: JSON = [
      "equal": isEqual && undecodable.allSatisfy(\.documents.paths.isEmpty), "documents": documents.object,
      "files": files.object, "undecodable": undecodable.flatMap(\.documents.names),
    ]
    if !snapshots.isEmpty {
      object["snapshots"] = .object(
        snapshots.map { JSON.Member(name: $0.directory, value: $0.snapshot.object) })
    }
    return object
  }
}

/// Prints lines in pieces, because a call of the system for each line would be slow.
struct LinePrinter {
  private static let pieceBytes = 32 << 10

  private var text = ""

  mutating func print(_ line: String) {
    text += text.isEmpty ? line : "\n" + line
    if text.utf8.count >= Self.pieceBytes { flush() }
  }

  mutating func flush() {
    if !text.isEmpty { Terminal.print(text) }
    text = ""
  }
}

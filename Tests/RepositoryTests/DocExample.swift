// Swift examples in the comments of public symbols, as snippets to compile.

import Foundation

enum DocExample {
  /// Declarations that examples use without declaring them. The declarations are listed by file, with one
  /// line for each declaration.
  private static let contexts: [String: [String]] = [
    "DocumentUpdates.swift": [user],
    "Batch.swift": [
      user, "let user = Document<User>(id: \"a\")", "let room = Document<User>(id: \"b\")",
      "let message = Document<User>(id: \"c\")",
    ],
    "DataSource+Changes.swift": [item],
    "Ballcap/DataSource.swift": [item],
    "Document.swift": [user],
    "IncrementableDouble.swift": [
      "struct Sale: Codable, Modelable { var amount: IncrementableDouble = 0.0 }",
      "let document = Document<Sale>(id: \"a\")",
    ],
    "IncrementableInt.swift": [
      "struct Sale: Codable, Modelable { var amount: IncrementableInt = 0 }",
      "let document = Document<Sale>(id: \"a\")",
    ],
    "LiveList.swift": ["struct City: Codable, Modelable { var title = \"\" }"],
    "StorageBatch.swift": [
      user, "let owner = Document<User>(id: \"a\")",
      "let (avatar, cover, old) = (File(owner), File(owner), File(owner))",
    ],
    "TypedQuery+Predicate.swift": [
      "struct Member: Codable { var age: Int, isActive: Bool, tags: [String] }",
      "let users = Firestore.firestore().collection(\"users\").typed(Member.self)",
    ],
    "StorageReference.swift": ["let data = Data()"],
    "StorageError.swift": ["let reference = Storage.storage().reference()"],
    "DataSource+Query.swift": [item], "List.swift": ["class Item: Object {}"],
    "NestedCollection.swift": ["class Message: Object {}"],
    "Reference.swift": [member], "Relation.swift": [member], "ReferenceCollection.swift": [member],
    "Pring/DataSource.swift": [member],
  ]

  private static let user = "struct User: Codable, Modelable { var name = \"\", age = 0 }"
  private static let item = "struct Item: Codable, Modelable { var name = \"\" }"
  private static let member = "class Member: Object { var age = 0 }"

  private static let imports = [
    "FirebaseCore": ["FirebaseCore"], "FirebaseFirestore": ["FirebaseFirestore"],
    "FirebaseStorage": ["FirebaseStorage"],
    "Ballcap": ["Ballcap", "FirebaseFirestore", "FirebaseStorage", "Observation"],
    "Pring": ["FirebaseFirestore", "FirebaseStorage", "Pring"],
    "StreamBaseKit": ["FirebaseFirestore", "StreamBaseKit"],
    "DugoutTesting": ["DugoutTesting", "FirebaseFirestore"],
    "DugoutTestingTrait": ["DugoutTesting", "DugoutTestingTrait", "FirebaseFirestore", "Testing"],
  ]

  /// Returns all examples of a source file. Skips files that exist only for Apple's systems, and symbols that
  /// are not public.
  static func all(in path: String, text: String) -> [Snippet] {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 3, let file = parts.last else { return [] }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #if !canImport(SwiftUI)
    if lines.contains(where: { $0.hasPrefix("#if canImport(") && !$0.contains("Foundation") }) { return [] }
    #endif
    var snippets: [Snippet] = []
    var open: (line: Int, lines: [String])?
    for (index, line) in lines.enumerated() {
      guard let comment = comment(line) else { continue }
      if let example = open {
        guard comment == "```" else {
          open?.lines.append(comment)
          continue
        }
        open = nil
        guard isPublic(lines[index...]) else { continue }
        let context =
          (imports[parts[2]] ?? [parts[2]]).map { "import \($0)" }
          + (contexts["\(parts[2])/\(file)"] ?? contexts[file] ?? [])
        snippets.append(
          Snippet(page: path, fences: [fence(context, example.line), fence(example.lines, example.line)]))
      } else if comment == "```swift" {
        open = (index + 1, [])
      }
    }
    return snippets
  }

  private static func comment(_ line: Substring) -> String? {
    line.wholeMatch(of: #/\s*\/\/\/ ?(.*)/#).map { String($0.1) }
  }

  /// Whether the declaration after the comment is public.
  private static func isPublic(_ lines: ArraySlice<Substring>) -> Bool {
    let declaration = lines.first { line in
      comment(line) == nil && !line.trimmed.isEmpty && !line.trimmed.hasPrefix("@")
    }
    return declaration?.firstMatch(of: #/\b(public|open|extension|case)\b/#) != nil
      && declaration?.contains("package ") != true
  }

  private static func fence(_ lines: [String], _ line: Int) -> MarkdownPage.Fence {
    MarkdownPage.Fence(language: "swift", lines: lines, line: line, precedingLine: "", isClosed: true)
  }
}

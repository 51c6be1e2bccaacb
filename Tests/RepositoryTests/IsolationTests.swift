// Asynchronous members run on the caller's executor.
//
// The API's asynchronous members must be `nonisolated(nonsending)`. Otherwise reads from memory would
// switch threads, and the main actor could not use objects that are not `Sendable`.

import Foundation
import Testing

@Suite struct IsolationTests {
  private static let modules = [
    "Ballcap", "FirebaseAuth", "FirebaseCore", "FirebaseFirestore", "FirebaseStorage", "Pring",
    "StreamBaseKit",
  ]

  @Test func publicAsyncMembersAreNonisolatedNonsending() throws {
    let tree = try RepositoryTree.repository()
    var found = 0
    var wrong: [String] = []
    for module in Self.modules {
      let folder = try #require(tree.moduleFolders[module])
      for path in tree.texts(below: folder, withSuffix: ".swift") {
        for declaration in Self.asynchronousMembers(in: tree.texts[path] ?? "") {
          found += 1
          if !declaration.contains("nonisolated(nonsending)") && !Self.isIterator(declaration) {
            wrong.append("\(path): not nonisolated(nonsending): \(declaration)")
          }
        }
      }
    }
    #expect(wrong == [])
    try #require(found > 40)
  }

  /// The isolation of an iterator is given by a parameter or by the iterator's protocol.
  private static func isIterator(_ declaration: String) -> Bool {
    declaration.contains("isolated (any Actor)?") || declaration.contains("mutating func next()")
  }

  /// Returns the text of each public `async` function, starting at its first modifier.
  private static func asynchronousMembers(in text: String) -> [String] {
    let code = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("//") }.joined(separator: " ")
    let head = #/((@discardableResult|nonisolated\(nonsending\)) )*public (\w+ )?func [^{]*/#
    return code.matches(of: head).map { String(code[$0.range]) }
      .filter { behindParameters(of: $0).contains(#/\basync\b/#) }
  }

  private static func behindParameters(of declaration: String) -> Substring {
    let parts = declaration.split(separator: " func ", maxSplits: 1)
    guard let signature = parts.last, let start = signature.firstIndex(of: "(") else { return "" }
    var depth = 0
    for index in signature.indices[start...] {
      if signature[index] == "(" { depth += 1 }
      if signature[index] == ")" { depth -= 1 }
      if depth == 0 { return signature[index...] }
    }
    return ""
  }

  @Test func theCheckDetectsViolations() {
    let text = """
      extension File {
        @discardableResult
        public func save(
          _ size: Int
        ) async throws -> Int { 1 }
        // public func commented() async {}
        nonisolated(nonsending) public func load() async throws {}
        public func answer(_ body: () async -> Void) {}
      }
      """
    let found = Self.asynchronousMembers(in: text)
    #expect(found.map { $0.contains("nonisolated(nonsending)") } == [false, true])
  }
}

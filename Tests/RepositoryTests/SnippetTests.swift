// Checks that every Swift example on the pages compiles, and that an example that does not compile is
// reported.

import Testing

@Suite(.drivesCompiler) struct SnippetTests {
  @Test func everySnippetOfThePagesCompiles() async throws {
    let tree = try RepositoryTree.repository()
    var snippets: [Snippet] = []
    let catalogues = tree.texts(below: "Sources/", withSuffix: ".md").filter { $0.contains(".docc/") }
    for page in tree.pages + catalogues where page != "CHANGELOG.md" {
      let found = Snippet.all(on: page, text: tree.texts[page]!)
      snippets += found.snippets
      expectNone(found.violations)
    }
    #expect(snippets.contains { $0.page == "README.md" }, "The README shows no Swift.")
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    expectNone(try await compiler.typecheck(snippets))
  }

  @Test func aSnippetThatDoesNotCompileIsReportedWithItsLine() async throws {
    let sound = "# Page\n\n```swift\nlet a = 1\nprint(a)\n```\n"
    let broken = """
      # Page

      ```swift
      import Synchronization

      let one = 1
      let two: String = one
      struct Three { var four: Five }
      ```
      <!-- snippet: continues -->
      ```swift
      print(one + six)
      ```
      """
    let snippets = snippets(sound, page: "docs/sound.md") + snippets(broken, page: "docs/broken.md")
    let found = try await SwiftCompiler(build: nil).typecheck(snippets)
    #expect(Set(found.map(\.path)) == ["docs/broken.md"])
    #expect(Set(found.map(\.line)) == [7, 8, 12])
    #expect(
      found.contains {
        $0.description.contains("broken.md:8: The snippet does not compile: cannot find type")
      })
  }

  @Test func snippetsOfEveryFormWithSharedNamesCompileTogether() async throws {
    let page = """
      ```swift
      import Synchronization

      /// A city.
      public struct City: Codable, Sendable {
        public var name: String
      }

      public extension City {
        var shout: String { name + "!" }
      }

      extension City: CustomStringConvertible {
        var description: String { shout }
      }

      extension Array where Element: Equatable {
        var first2: Element? { first }
      }

      infix operator <+>: AdditionPrecedence

      @MainActor
      final class Model {
        var city: City?
      }

      @main struct App {
        static func main() {}
      }

      private let count = 3

      func load() async throws -> City { City(name: "Tōkyō }") }
      let city = try await load()
      let unused = 1
      let actor = city
      actor.name.count
      "an unused expression".count
      if city.name.isEmpty {
        print("{")
      }
      else {
        print(city, count, [1].first2 ?? 0)
      }
      let text = \"\"\"
      struct NotAType {
      \"\"\"
      [1, 2]
        .map { $0 + 1 }
        .forEach { print($0, text) }
      await MainActor.run {
        Model().city = city
      }
      #if os(macOS)
      struct OnlyThere {}
      #endif
      ```
      """
    let snippets = snippets(page, page: "a.md") + snippets(page.replacing("<+>", with: "<->"), page: "b.md")
    let found = try await SwiftCompiler(build: nil).typecheck(snippets)
    #expect(found.map(\.description) == [])
  }

  @Test func aSnippetWithAnUnknownImportIsReported() async throws {
    let snippets = snippets("```swift\nimport NoSuchModule\n```", page: "a.md")
    let found = try await SwiftCompiler(build: nil).typecheck(snippets)
    #expect(found.map(\.line) == [2])
  }

  @Test func aMissingCompilerIsAFailureWithAMessage() async throws {
    let snippets = snippets("```swift\nlet a = 1\n```", page: "a.md")
    let failure = await #expect(throws: SwiftCompiler.Failure.self) {
      try await SwiftCompiler(build: nil, executable: nil).typecheck(snippets)
    }
    #expect(failure?.description == "There is no swiftc beside the running toolchain or in PATH.")
  }

  @Test func onlySwiftFencesAreSnippetsAndContinuationsJoinThem() {
    let text = """
      ```sh
      swift build
      ```
      ```swift
      a
      ```
      <!-- snippet: continues -->

      ```swift
      b
      ```
      <!-- snippet: not compiled: it shows the original's API -->
      ```swift
      c
      ```
      - in a list
        ```swift
        d
          e
        ```
      """
    let found = Snippet.all(on: "a.md", text: text)
    #expect(found.violations == [])
    #expect(found.snippets.map { $0.fences.map(\.lines) } == [[["a"], ["b"]], [["d", "  e"]]])
    #expect(found.snippets[1].fences[0].line == 17)
  }

  @Test(arguments: [
    ("<!-- snippet: not compiled: -->\n```swift\n```", 2, "The snippet is not compiled, without a reason."),
    ("<!-- snippet: not compiled -->\n```swift\n```", 2, "The snippet is not compiled, without a reason."),
    ("<!-- snippet: continues -->\n```swift\n```", 2, "The snippet continues nothing that is compiled."),
    (
      "<!-- snippet: skipped -->\n```swift\n```", 2,
      "`<!-- snippet: skipped -->` is not a known directive."
    ),
    (
      "```swift\nimport PackageDescription\n```", 1,
      "A manifest is no snippet: write `<!-- snippet: not compiled: REASON -->` before it."
    ),
    ("```swift\nlet a = 1", 1, "The code fence is not closed."),
  ])
  func anUnknownSnippetInstructionIsReported(text: String, line: Int, sentence: String) {
    let found = Snippet.all(on: "a.md", text: text).violations
    #expect(found.map(\.description) == ["a.md:\(line): \(sentence)"])
  }

  private func snippets(_ text: String, page: String) -> [Snippet] {
    Snippet.all(on: page, text: text).snippets
  }
}

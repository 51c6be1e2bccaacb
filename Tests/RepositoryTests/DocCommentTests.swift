// Documentation of the public API: each module has a catalogue, and the examples in comments compile.

import Foundation
import Testing

@Suite(.drivesCompiler) struct DocCommentTests {
  @Test func everyExampleInACommentCompiles() async throws {
    let tree = try RepositoryTree.repository()
    let sources = tree.texts(below: "Sources/", withSuffix: ".swift")
    let examples = sources.flatMap { DocExample.all(in: $0, text: tree.texts[$0]!) }
    #expect(examples.count > 45)
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    expectNone(try await compiler.typecheck(examples))
  }

  @Test func anExampleThatDoesNotCompileIsReportedWithItsLine() async throws {
    let text = """
      // A file.

      /// A thing.
      ///
      /// ```swift
      /// let one = 1
      /// let two: String = one
      /// ```
      public struct Thing {}

      /// ```swift
      /// nonsense()
      /// ```
      struct Own {}
      """
    let examples = DocExample.all(in: "Sources/Engine/Synchronization/Thing.swift", text: text)
    #expect(examples.count == 1)
    let found = try await SwiftCompiler(build: nil).typecheck(examples)
    #expect(found.map { "\($0.path):\($0.line ?? 0)" } == ["Sources/Engine/Synchronization/Thing.swift:7"])
  }

  @Test func everyPublicSymbolHasAComment() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    var count = 0
    var wrong: [String] = []
    for library in try Self.libraries {
      let symbols = try await compiler.publicSymbols(of: library)
      count += symbols.count
      wrong += symbols.filter { !$0.isDocumented }.map { "\(library): no comment on \($0.path)" }
    }
    #expect(wrong == [])
    #expect(count > 2000)
  }

  private static var libraries: [String] {
    get throws {
      let manifest = try #require(try RepositoryTree.repository().texts["Package.swift"])
      return manifest.matches(of: #/\.library\(name: "(\w+)"/#).map { String($0.1) }
    }
  }

  @Test func everyLibraryHasACatalogue() throws {
    let tree = try RepositoryTree.repository()
    let libraries = try Self.libraries
    #expect(libraries.count > 8)
    var missing: [String] = []
    for library in libraries {
      let folder = try #require(tree.moduleFolders[library])
      let page = "\(folder)\(library).docc/\(library).md"
      if tree.texts[page]?.hasPrefix("# ``\(library)``\n") != true { missing.append(page) }
    }
    #expect(missing == [])
  }
}

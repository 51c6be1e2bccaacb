// Internal members of open classes do not collide with members of apps' subclasses.
//
// `@testable import` makes internal members visible to an app's tests and to the classes that the tests
// declare. A property of such a class does not compile if it has the name of an internal member of its
// superclass. Therefore, every internal member of an `open` class begins with the name of its layer.

import Foundation
import Testing

@Suite(.drivesCompiler) struct InternalNamesTests {
  struct Layer: CustomTestStringConvertible, Sendable {
    var module: String
    var prefix: String
    /// Internal names that the original library also has, because users of `@testable import` call them.
    var kept: Set<String> = []

    var testDescription: String { module }
  }

  private static let layers = [
    Layer(module: "Ballcap", prefix: "ballcap"),
    Layer(module: "Pring", prefix: "pring"),
    Layer(
      module: "StreamBaseKit", prefix: "kit",
      kept: ["buildComparator()", "buildQuery()", "buildQueryPager()"]),
  ]

  @Test(arguments: layers) func internalMembersOfOpenClassesHaveTheirLayersPrefix(
    layer: Layer
  ) async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let members = try await compiler.hiddenMembersOfOpenClasses(of: layer.module)
    try #require(!members.isEmpty)
    let plain = members.filter { !layer.kept.contains($0.name) && !$0.begins(with: layer.prefix) }
    #expect(plain.map(\.path) == [])
  }

  @Test(arguments: ["Ballcap", "StreamBaseKit"], ["5", "6"])
  func classesWithPlainNamesCompileUnderATestableImport(module: String, mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    let file = RepositoryTree.root.appendingPathComponent("Tests/Fixtures/\(module)/PlainNames.swift")
    expectNone(try await compiler.typecheck(file))
  }
}

extension SwiftCompiler {
  struct HiddenMember {
    /// For example `Type.member(label:)`.
    var path: String

    /// The last part of the path, without the name of the type.
    var name: String { path.split(separator: ".").last.map(String.init) ?? path }

    /// Whether the name, or the first label of an initializer, begins with the prefix.
    func begins(with prefix: String) -> Bool {
      name.hasPrefix(prefix) || name.hasPrefix("init(\(prefix)")
    }
  }

  /// Returns the members of the module's `open` classes that are neither public nor private.
  func hiddenMembersOfOpenClasses(of module: String) async throws -> [HiddenMember] {
    let graph = try await symbolGraph(of: module, level: "internal")
    let symbols = Dictionary(graph.symbols.map { ($0.identifier.precise, $0) }, uniquingKeysWith: { $1 })
    return graph.relationships.compactMap { relationship in
      guard relationship.kind == "memberOf", symbols[relationship.target]?.isOpenClass == true,
        let member = symbols[relationship.source], !["public", "open"].contains(member.accessLevel)
      else { return nil }
      return HiddenMember(path: member.pathComponents.joined(separator: "."))
    }
  }
}

extension SwiftCompiler.SymbolGraph.Symbol {
  fileprivate var isOpenClass: Bool { kind.identifier == "swift.class" && accessLevel == "open" }
}

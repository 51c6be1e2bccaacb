// The repository complies with the layer table, and every kind of violation is detected.

import Testing

@Suite struct LayeringTests {
  @Test func everyImportPointsDownTheLayerTable() throws {
    expectNone(LayeringCheck.violations(in: try .repository()))
  }

  @Test func aTreeThatKeepsTheTablePasses() {
    #expect(violations() == [])
  }

  @Test func anUpwardImportIsReportedWithItsLine() {
    #expect(
      violations(["Sources/Engine/Store/A.swift": "// import Api\n\nimport Api\n"])
        == ["Sources/Engine/Store/A.swift:3: Store imports Api, which is above it."])
  }

  @Test(arguments: [
    "import Disk", "public import Disk", "@testable import Disk", "@_exported import Disk",
    "@_spi(Measure) public import Disk", "import struct Disk.File", "package import func Disk.open",
    "let a = 1; import Disk", "#if os(Linux)\nimport Disk\n#endif", "@preconcurrency\nimport\n  Disk",
    "/* a */ import /* b */ Disk",
  ])
  func everyFormOfImportIsRecognized(text: String) {
    let found = violations(["Sources/Engine/Api/A.swift": text])
    #expect(found.count == 1)
    #expect(found.first?.hasSuffix("Api imports Disk, which its row does not list.") == true)
  }

  @Test(arguments: [
    "// import Disk", "/* /* */ import Disk */", "let a = \"import Disk\"",
    "let a = \"\"\"\nimport Disk\n\"\"\"",
    "let a = Command.import", "let a = #\"\"import Disk\"#", "enum Command { case `import`, other }",
  ])
  func textThatLooksLikeAnImportIsIgnored(text: String) {
    #expect(violations(["Sources/Engine/Api/A.swift": text]) == [])
  }

  @Test func anImportOfTheOwnModuleIsReported() {
    #expect(
      violations(["Sources/Engine/Api/A.swift": "import Api"]) == [
        "Sources/Engine/Api/A.swift:1: Api imports itself."
      ])
  }

  @Test func aSystemModuleThatTheRowDoesNotAllowIsReported() {
    #expect(
      violations(["Sources/Engine/Store/A.swift": "import Foundation\nimport Glibc"])
        == [
          "Sources/Engine/Store/A.swift:1: Store imports the system module Foundation, "
            + "which its row does not allow."
        ])
    #expect(
      violations(["Sources/Engine/Store/A.swift": "import FoundationEssentials"])
        == [
          "Sources/Engine/Store/A.swift:1: Store imports the system module FoundationEssentials, "
            + "which its row does not allow."
        ])
    #expect(violations(["Sources/Engine/Api/A.swift": "import FoundationEssentials"]) == [])
  }

  @Test(arguments: [
    "import SwiftUI", "#if os(iOS)\nimport SwiftUI\n#endif",
    "#if !canImport(SwiftUI)\nimport SwiftUI\n#endif",
    "#if canImport(SwiftUI)\n#else\nimport SwiftUI\n#endif", "#if canImport(SwiftUI)\n#endif\nimport SwiftUI",
  ])
  func anAppleModuleOutsideCanImportIsReported(text: String) {
    let found = violations(["Sources/Engine/Api/A.swift": text])
    #expect(found.count == 1)
    #expect(found.first?.hasSuffix("Api imports SwiftUI outside `#if canImport`.") == true)
  }

  @Test func anAppleModuleUnderCanImportPasses() {
    let text =
      "#if canImport(UIKit)\nimport UIKit\n#elseif canImport(SwiftUI) && os(macOS)\nimport SwiftUI\n#endif"
    #expect(violations(["Sources/Engine/Api/A.swift": text]) == [])
  }

  @Test func aModuleWithoutARowIsReported() {
    #expect(
      violations(["Sources/Engine/Extra/A.swift": ""])
        == ["Sources/Engine/Extra: The module Extra has no row in the layer table."])
  }

  @Test func aRowWithoutAFolderIsReported() {
    #expect(
      violations(without: "Sources/Engine/Disk/Disk.swift")
        == ["Package.swift:9: The module Disk has a row but no folder in Sources."])
  }

  @Test func rowsOutOfOrderAreReported() {
    #expect(
      violations(manifest: ("// | Disk   |       | Glibc |", "// | Disk   | Store | Glibc |"))
        == ["Package.swift:9: The row of Disk lists Store, which is not below it."])
    #expect(
      violations(manifest: ("// | Disk   |       | Glibc |", "// | Disk   | Disk  | Glibc |"))
        == ["Package.swift:9: The row of Disk lists Disk, which is not below it."])
  }

  @Test func aRowThatListsAnUnknownModuleIsReported() {
    #expect(
      violations(manifest: ("| Store  | Disk  |", "| Store  | Disk Tape |"))
        == ["Package.swift:8: The row of Store lists Tape, which has no row."])
  }

  @Test func aSecondRowForOneModuleIsReported() {
    #expect(
      violations(manifest: ("//\n// Apple", "// | Disk |  | Glibc |\n//\n// Apple"))
        == ["Package.swift:10: Disk has two rows in the layer table."])
  }

  @Test func aTableWordWithoutAnExplanationIsReported() {
    let found = violations(manifest: ("// Apple is", "// Apple has"))
    #expect(found.contains("Package.swift:7: No sentence below the table says what Apple is."))
  }

  @Test func aTargetWithMoreDependenciesThanItsRowIsReported() {
    #expect(
      violations(manifest: ("dependencies: [\"Store\"]", "dependencies: [\"Store\", \"Disk\"]"))
        == ["Package.swift:16: The target Api depends on Disk, which its row does not list."])
    #expect(
      violations(manifest: ("dependencies: [\"Store\"]", "dependencies: [.target(name: \"Disk\")]"))
        == ["Package.swift:16: The target Api depends on Disk, which its row does not list."])
    let product = "dependencies: [\"Store\", .product(name: \"Logging\", package: \"swift-log\")]"
    #expect(
      violations(manifest: ("dependencies: [\"Store\"]", product))
        == ["Package.swift:16: The target Api depends on Logging, which its row does not list."])
  }

  @Test func aTargetWithoutARowAndARowWithoutATargetAreReported() {
    #expect(
      violations(manifest: (".target(name: \"Disk\")", ".target(name: \"Tape\")"))
        == [
          "Package.swift:18: The target Tape has no row in the layer table.",
          "Package.swift:9: The module Disk has a row but no target.",
        ])
  }

  @Test func aMissingTableIsReported() {
    let found = LayeringCheck.violations(in: RepositoryTree(["Package.swift": "import PackageDescription"]))
    #expect(found.map(\.description) == ["Package.swift:1: The comment at the top holds no layer table."])
  }

  /// Returns the violations in a valid tree after one change.
  private func violations(
    _ planted: [String: String] = [:], without removed: String? = nil, manifest edit: (String, String)? = nil
  ) -> [String] {
    var files = soundTree.merging(planted) { _, new in new }
    if let removed { files[removed] = nil }
    if let edit {
      #expect(soundManifest.contains(edit.0))
      files["Package.swift"] = soundManifest.replacing(edit.0, with: edit.1)
    }
    return LayeringCheck.violations(in: RepositoryTree(files)).map(\.description)
  }
}

private let soundTree = [
  "Package.swift": soundManifest,
  "Sources/Engine/Api/Api.swift": "import Foundation\nimport Store\n",
  "Sources/Engine/Store/Store.swift": "internal import Disk\n#if canImport(Musl)\nimport Musl\n#endif\n",
  "Sources/Engine/Disk/Disk.swift": "import Glibc\n",
]

private let soundManifest = """
  // swift-tools-version: 6.2

  // The layers, top to bottom.
  //
  // | module | may import | system modules |
  // | ------ | ----- | ---- |
  // | Api    | Store | Foundation Apple |
  // | Store  | Disk  | Glibc Musl |
  // | Disk   |       | Glibc |
  //
  // Apple is what only Apple's systems have: SwiftUI,
  // UIKit, always under `canImport`.
  import PackageDescription
  let package = Package(name: "P",
    products: [.library(name: "Api", targets: ["Api"])], targets: [
    .target(name: "Api", dependencies: ["Store"]),  // .target(name: "Comment")
    .target(name: "Store", dependencies: ["Disk"], swiftSettings: []),
    .target(name: "Disk"),
    .executableTarget(name: "tool", dependencies: ["Disk"], path: "Tests/tool"),
    .testTarget(name: "ApiTests", dependencies: ["Api", "Disk"]),
  ])
  """

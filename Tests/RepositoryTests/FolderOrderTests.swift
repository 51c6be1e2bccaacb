// The folders of a module depend on each other in one direction, and violations are detected.

import Testing

@Suite struct FolderOrderTests {
  @Test func everyFolderUsesOnlyFoldersBelowIt() throws {
    expectNone(FolderOrderCheck.violations(in: try .repository()))
  }

  @Test func aTreeThatKeepsTheOrderPasses() {
    #expect(violations() == [])
  }

  @Test func aUseOfALaterFolderIsReportedWithItsLine() {
    #expect(
      violations(["Sources/Engine/Disk/Files/File.swift": "// Log\nstruct File {\n  var log: Log\n}"])
        == ["Sources/Engine/Disk/Files/File.swift:3: Files uses Log, which is declared later, in Log."])
  }

  @Test func aUseOfATypeOutsideAllFoldersIsReported() {
    #expect(
      violations(["Sources/Engine/Disk/Log/Deep/Reader.swift": "struct Reader { var disk: Disk }"])
        == [
          "Sources/Engine/Disk/Log/Deep/Reader.swift:1: Log uses Disk, which is declared later, "
            + "in the module's own folder, above all others."
        ])
  }

  @Test func anyFolderMayExtendTheTypeNamedLikeTheModule() {
    let file = "extension Disk { func read() -> Disk { self } }"
    #expect(violations(["Sources/Engine/Disk/Log/Deep/Reader.swift": file]) == [])
  }

  @Test(arguments: ["struct", "final class", "enum", "protocol", "actor", "public indirect enum"])
  func everyKindOfTypeDeclarationIsChecked(kind: String) {
    let found = violations([
      "Sources/Engine/Disk/Log/New.swift": "\(kind) New {}",
      "Sources/Engine/Disk/Files/Use.swift": "let a = New.self",
    ])
    #expect(
      found == ["Sources/Engine/Disk/Files/Use.swift:1: Files uses New, which is declared later, in Log."])
  }

  @Test func aTypealiasCountsAsAType() {
    let found = violations([
      "Sources/Engine/Disk/Log/New.swift": "package typealias New = Int",
      "Sources/Engine/Disk/Files/Use.swift": "let a: New",
    ])
    #expect(found.count == 1)
  }

  @Test func anImportDeclaresNoType() {
    let files = [
      "Sources/Engine/Disk/Exports.swift": "@_exported public import struct Log.Entry",
      "Sources/Engine/Disk/Files/A.swift": "let a: Entry",
      "Sources/Engine/Disk/Log/Entry.swift": "",
    ]
    #expect(violations(files) == [])
  }

  @Test func commentsStringsNestedAndPrivateTypesAreIgnored() {
    let files = [
      "Sources/Engine/Disk/Files/A.swift":
        "/// Log, Entry\nlet a = \"Log\"; struct A { enum Entry {}; var b: Entry }",
      "Sources/Engine/Disk/Log/Entry.swift":
        "struct Entry {}\nprivate struct Hidden {}\nstruct B { struct Inner {} }",
      "Sources/Engine/Disk/Files/C.swift": "private struct Hidden {}\nlet c = Inner.self",
    ]
    #expect(violations(files) == [])
  }

  @Test func anUnlistedFolderIsReported() {
    #expect(
      violations(["Sources/Engine/Disk/Extra/A.swift": ""])
        == ["Sources/Engine/Disk/Extra: The folder Extra is missing from the folder order of Disk."])
  }

  @Test func aListedFolderThatDoesNotExistIsReported() {
    #expect(
      violations(["docs/architecture.md": "\n<!-- folder order: Disk: Files Log Tape -->"])
        == ["docs/architecture.md:2: Disk has no folder Tape with Swift files."])
  }

  @Test func anOrderOfAnUnknownModuleAndAMalformedOrderAreReported() {
    #expect(
      violations(["docs/architecture.md": "<!-- folder order: Tape: A -->\n<!-- folder order Disk -->"])
        == [
          "docs/architecture.md:2: A folder order reads `<!-- folder order: Module: Lowest … Highest -->`.",
          "docs/architecture.md:1: The folder order of Tape belongs to no module in Sources.",
        ])
  }

  @Test func aModuleWithoutAnOrderIsNotChecked() {
    #expect(
      violations(["docs/architecture.md": "", "Sources/Engine/Disk/Files/A.swift": "let a: Log"]) == [])
  }

  private func violations(_ planted: [String: String] = [:]) -> [String] {
    let files = soundTree.merging(planted) { _, new in new }
    return FolderOrderCheck.violations(in: RepositoryTree(files)).map(\.description)
  }
}

private let soundTree = [
  "docs/architecture.md": "# Architecture\n\n<!-- folder order: Disk: Files Log -->\n",
  "Sources/Engine/Disk/Files/File.swift": "struct File {}",
  "Sources/Engine/Disk/Log/Log.swift": "struct Log { var file: File }",
  "Sources/Engine/Disk/Disk.swift": "public final class Disk { var log: Log; var file: File }",
]

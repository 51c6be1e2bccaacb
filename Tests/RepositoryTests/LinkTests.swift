// All links of the pages resolve, and a dead link is detected.

import Testing

@Suite struct LinkTests {
  @Test func everyRelativeLinkOfThePagesResolves() throws {
    let tree = try RepositoryTree.repository()
    #expect(tree.paths.contains("README.md"))
    expectNone(LinkCheck.violations(in: tree))
  }

  @Test(arguments: [
    "[a](docs/format.md)", "![a](docs/picture.svg \"title\")", "[a](<docs/format.md>)", "[a](docs/)",
    "[a](docs/format.md#the-log-file)", "[a](#use)", "[a](/docs/format.md)", "[a](./docs/../CHANGELOG.md)",
    "<img src=\"docs/picture.svg\">", "[a]: docs/format.md", "[a](https://example.org/none.md)",
    "[a](mailto:someone@example.org)", "`[a](none.md)`", "```\n[a](none.md)\n```",
    "[a](docs/with%20space.md)",
    "[a](Sources/A.swift#L3)", "[![a](docs/picture.svg)](docs/format.md)", "[a](docs/format.md#here)",
    "[a](docs/format.md#use-1)", "[a](docs/format.md#what-getdocument-does-in-cache_mode)",
  ])
  func aLinkThatResolvesPasses(text: String) {
    #expect(violations(["README.md": "# Use\n\n\(text)\n"]) == [])
  }

  @Test(arguments: [
    ("[a](docs/none.md)", "The link to docs/none.md finds no file docs/none.md."),
    ("![a](picture.svg)", "The link to picture.svg finds no file picture.svg."),
    ("![a](docs/Picture.svg)", "The link to docs/Picture.svg finds no file docs/Picture.svg."),
    ("<a href=\"none\">", "The link to none finds no file none."),
    ("[a]: none.md", "The link to none.md finds no file none.md."),
    ("[a](../outside.md)", "The link to ../outside.md leaves the repository."),
    ("[a](#none)", "README.md has no heading for the link to #none."),
    ("[a](#Use)", "README.md has no heading for the link to #Use."),
    ("[a](docs/format.md#use-2)", "docs/format.md has no heading for the link to docs/format.md#use-2."),
    ("[![a](docs/none.svg)](docs/format.md)", "The link to docs/none.svg finds no file docs/none.svg."),
    ("[a]()", "A link leads nowhere."),
  ])
  func aDeadLinkIsReportedWithItsLine(text: String, sentence: String) {
    #expect(
      violations(["README.md": "# Use\n\n```sh\n# none\n```\n\n\(text)\n"]) == ["README.md:7: \(sentence)"])
  }

  @Test func linksOfAllPagesInDocsAndTheChangelogAreChecked() {
    let found = violations([
      "CHANGELOG.md": "[a](none)", "docs/decisions/0001-a.md": "[a](../format.md)\n[a](format.md)",
      "Sources/Notes.md": "[a](none)",
    ])
    #expect(
      found == [
        "CHANGELOG.md:1: The link to none finds no file none.",
        "docs/decisions/0001-a.md:2: The link to format.md finds no file docs/decisions/format.md.",
      ])
  }

  private func violations(_ planted: [String: String]) -> [String] {
    let files = soundTree.merging(planted) { _, new in new }
    return LinkCheck.violations(in: RepositoryTree(files)).map(\.description)
  }
}

private let soundTree = [
  "README.md": "# Use\n", "CHANGELOG.md": "", "docs/picture.svg": "", "docs/with space.md": "",
  "Sources/A.swift": "",
  "docs/format.md": """
  # Use
  ## Use
  ### The `log` *file*
  <a id="here"></a>
  What `getDocument()` does, in cache_mode
  ----
  """,
]

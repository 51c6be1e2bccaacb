// dugout man: prints the manual page.

enum ManCommand: Command {
  static let name = "man"
  static let summary = "Prints the manual page, in the form that man reads"
  static let usage = ""
  static let options: [(option: String, meaning: String)] = []
  static let positional = 0...0
  static let notes = [
    "To read it, and to keep it:",
    "  dugout man | man -l -",
    "  dugout man > /usr/local/share/man/man1/dugout.1",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws { Terminal.print(ManualPage.text(Dugout.commands)) }
}

// The groups of commands in the overview, each command with a few words.

struct CommandGroup {
  var title: String
  var entries: [(name: String, brief: String)]

  /// A brief text is as long as a column of the overview allows.
  static let briefColumnsMax = 21

  private static let known = [
    CommandGroup(
      title: "start",
      entries: [
        ("quickstart", "take a short tour"), ("shell", "enter commands"),
        ("completions", "for bash, zsh, fish"), ("man", "print the manual page"),
      ]),
    CommandGroup(
      title: "documents",
      entries: [
        ("ls", "list collections"), ("get", "print a document"), ("set", "write a document"),
        ("update", "change documents"), ("delete", "delete documents"), ("query", "find documents"),
        ("explain", "show a query's plan"),
        ("watch", "follow changes"), ("index", "manage indexes"), ("import", "read from a file"),
        ("export", "write to a file"),
      ]),
    CommandGroup(
      title: "stores",
      entries: [
        ("stat", "show size and state"), ("check", "verify every byte"), ("diff", "compare two stores"),
        ("compact", "reclaim space"), ("backup", "make a copy"), ("restore", "use a copy"),
        ("salvage", "repair after damage"), ("bench", "measure a disk"),
        ("serve", "run a server"),
      ]),
  ]

  /// The groups with the named commands. Commands that no group lists are the last group.
  static func all(of names: [String]) -> [CommandGroup] {
    let listed = Set(known.flatMap { $0.entries.map(\.name) })
    let others = names.filter { !listed.contains($0) }
    let groups = known.map { group in
      CommandGroup(title: group.title, entries: group.entries.filter { names.contains($0.name) })
    }
    return groups + (others.isEmpty ? [] : [CommandGroup(title: "more", entries: others.map { ($0, "") })])
  }
}

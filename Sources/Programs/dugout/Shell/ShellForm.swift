// How the line of a command reads inside the shell, which knows the store.

/// Nobody has to name the directory there, or to put a query in quotes.
enum ShellForm {
  /// The same words as on the command line; the directory is put at this place among the arguments.
  case words(directoryAt: Int)
  /// So many words, and then the rest of the line as one argument.
  case text(wordsBefore: Int)
  /// The command has no place in a shell.
  case none
}

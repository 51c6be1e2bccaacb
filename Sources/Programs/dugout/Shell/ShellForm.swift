// The form of a command's line inside the shell, where the store is already known.

/// In the shell the directory is left out, and queries need no quotes.
enum ShellForm {
  /// The words of the command line; the directory is inserted at this position.
  case words(directoryAt: Int)
  /// This many words, and then the rest of the line as one argument.
  case text(wordsBefore: Int)
  /// The command is not available in the shell.
  case none
}

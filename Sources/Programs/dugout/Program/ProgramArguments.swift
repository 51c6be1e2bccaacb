// The arguments of the program and its text on standard input, which must be UTF-8.
//
// The system passes bytes. Text in another encoding is refused: if its bytes were replaced, a command would
// write another document, or read another file, than the user named.

import Foundation

enum ProgramArguments {
  /// Returns the arguments after the program's name.
  static func words() throws(CommandFailure) -> [String] {
    var words: [String] = []
    for place in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[place] else { break }
      words.append(try word(UnsafeRawBufferPointer(start: argument, count: strlen(argument)), place: place))
    }
    return words
  }

  static func word(
    _ bytes: some Collection<UInt8>, place: Int
  ) throws(CommandFailure) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    throw CommandFailure(
      code: .usage,
      message:
        "argument \(place) is not UTF-8: \(escaped(bytes)). Paths, fields and names of files must be UTF-8. If the "
        + "terminal has another encoding, choose UTF-8 (LANG=C.UTF-8); \"convmv\" renames files.")
  }

  /// Returns the text of bytes from standard input. `name` says what they are.
  static func text(
    _ bytes: some Collection<UInt8>, of name: String, code: ExitCode
  ) throws(CommandFailure) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    let shown = escaped(bytes.prefix(shownBytesMax))
    throw CommandFailure(
      code: code,
      message:
        "\(name) is not UTF-8: \(shown)\(bytes.count > shownBytesMax ? "…" : ""). Nothing was done with it.")
  }

  private static let shownBytesMax = 200

  /// The text with each byte that is not UTF-8 written as `\xe9`.
  static func escaped(_ bytes: some Collection<UInt8>) -> String {
    var rest = Array(bytes)[...]
    var text = ""
    while let first = rest.first {
      let scalar = (1...4).lazy.compactMap { count in
        rest.count >= count ? String(validating: rest.prefix(count), as: UTF8.self) : nil
      }.first
      if let scalar {
        text += ShownText.escaped(scalar)
        rest = rest.dropFirst(scalar.utf8.count)
      } else {
        let digits = String(first, radix: 16)
        text += "\\x" + (digits.count < 2 ? "0" : "") + digits
        rest = rest.dropFirst()
      }
    }
    return text
  }
}

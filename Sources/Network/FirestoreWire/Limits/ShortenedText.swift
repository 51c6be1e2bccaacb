// Text from outside in error messages. An error travels in the headers of an answer, whose size is limited.

/// Text for an error message: the whole text, or its beginning. A character can have any number of bytes, so
/// the text is cut between Unicode scalars.
package func shortened(_ text: String) -> String { shortened(text, bytesMax: 300) }

/// The whole text, or as much of its beginning as has the given number of bytes, with an ellipsis.
package func shortened(_ text: String, bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  let ellipsis = "…"
  var bytes = Array(text.utf8.prefix(max(0, bytesMax - ellipsis.utf8.count) + 1))
  // The last byte is the first one that does not fit. It begins a scalar, or is inside one.
  while let next = bytes.popLast() {
    if next & 0b1100_0000 != 0b1000_0000 { break }
  }
  return String(decoding: bytes, as: UTF8.self) + ellipsis
}

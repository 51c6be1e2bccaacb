// The answer to a forward request.
//
//   status := "[" connected "," number "," bytes "]"

/// The state of a session in the server.
struct ForwardStatus: Equatable {
  /// Whether the server has a back channel.
  let hasBackChannel: Bool
  /// The number of the last array that the server has.
  let last: UInt64

  /// Reads a whole answer.
  init(_ body: [UInt8]) throws(ChannelFault) {
    var pieces = PieceReader(lengthMax: ChannelSettings.answerBytesMax)
    pieces.add(body)
    guard let piece = try pieces.next() else { throw .malformed }
    var scanner = ValueScanner(piece)
    try scanner.expect("[")
    guard let connected = scanner.number() else { throw .malformed }
    try scanner.expect(",")
    guard let last = scanner.number() else { throw .malformed }
    while scanner.skips(",") { _ = try scanner.value() }
    try scanner.expect("]")
    hasBackChannel = connected != 0
    self.last = last
  }
}

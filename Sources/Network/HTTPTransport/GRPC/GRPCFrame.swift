// Messages in the body of a response.

/// The form of a message on the wire, which GRPCFrameDecoder.swift describes.
package enum GRPCFrame {
  /// A message of this size is sent beside its prefix, because a copy would cost more.
  static let copiedBytesMax = 64 * 1024

  /// The pieces of a message that is sent: prefix and message together if the message is small.
  package static func forEachPiece(of message: [UInt8], _ body: ([UInt8]) -> Void) {
    let isCopied = message.count <= copiedBytesMax
    var bytes: [UInt8] = []
    bytes.reserveCapacity(GRPCFrameDecoder.prefixCount + (isCopied ? message.count : 0))
    bytes.append(0)
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: message.count >> shift))
    }
    if isCopied { bytes += message }
    body(bytes)
    if !isCopied { body(message) }
  }
}

// Splits the body of an answer into its messages, as its bytes arrive.
//
//   body    := message | "[" (message ("," message)*)? "]"
//   message := an object in JSON
//
// The messages are not checked here, because their decoder checks them.

package import OfflineSync

package struct JSONElements {
  private let bytesMax: Int
  private var isArray = false
  private var isEnded = false
  private var depth = 0
  private var isInString = false
  private var isAfterBackslash = false
  private var message: [UInt8] = []

  /// `bytesMax` is the maximum size of a message.
  package init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Whether the body is complete.
  package var isComplete: Bool { isEnded }

  /// Adds bytes, and returns the messages that are complete with them.
  package mutating func append(_ bytes: [UInt8]) throws(RemoteError) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    for byte in bytes {
      if depth > 0 {
        try take(byte)
        guard depth == 0 else { continue }
        messages.append(message)
        message = []
        isEnded = !isArray
      } else {
        try takeOutside(byte)
      }
    }
    return messages
  }

  private mutating func take(_ byte: UInt8) throws(RemoteError) {
    guard message.count < bytesMax else {
      throw RemoteError(.resourceExhausted, "A message of the answer has more than \(bytesMax) bytes.")
    }
    message.append(byte)
    if isInString {
      if isAfterBackslash {
        isAfterBackslash = false
      } else if byte == UInt8(ascii: "\\") {
        isAfterBackslash = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
      }
      return
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
    default: break
    }
  }

  /// Takes a byte between messages.
  private mutating func takeOutside(_ byte: UInt8) throws(RemoteError) {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
    case UInt8(ascii: "{") where !isEnded:
      depth = 1
      message = [byte]
    case UInt8(ascii: "[") where !isArray && !isEnded: isArray = true
    case UInt8(ascii: ",") where isArray && !isEnded: break
    case UInt8(ascii: "]") where isArray && !isEnded: isEnded = true
    default: throw RemoteError(.internal, "The answer is not a list of messages in JSON.")
    }
  }
}

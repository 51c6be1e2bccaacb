// One numbered array of a WebChannel session, as its client reads it.

import ByteStore
import FirestoreWire

/// An array of a back channel: `[id, content]`.
package struct ChannelArray: Sendable, Hashable {
  package enum Content: Sendable, Hashable {
    /// The session has this id.
    case session(String)
    case noop
    /// The service has ended the call without an error.
    case close
    case stop
    /// A message of the service in JSON.
    case message([UInt8])
    case error(ChannelError)
  }

  package let id: Int
  package let content: Content

  /// Reads the arrays of a frame.
  package static func all(in frame: [UInt8]) throws(Violation) -> [ChannelArray] {
    var arrays: [ChannelArray] = []
    for element in try elements(of: frame) { arrays.append(try ChannelArray(element)) }
    guard !arrays.isEmpty else { throw Violation("a frame has no array") }
    return arrays
  }

  private init(_ json: [UInt8]) throws(Violation) {
    let parts = try Self.elements(of: json)
    guard parts.count == 2, let id = Int(String(decoding: parts[0], as: UTF8.self)), id >= 0 else {
      throw Violation("an array is not a number and its content: \(Self.text(json))")
    }
    self.id = id
    content = try Self.content(of: parts[1])
  }

  private static func content(of json: [UInt8]) throws(Violation) -> Content {
    let parts = try elements(of: json)
    let tree = JSONTree(json).elements
    switch tree.first {
    case .string("c")? where parts.count == 5 || parts.count == 6:
      guard let session = tree[1].text, !session.isEmpty, tree[2] == .string("") else { break }
      return .session(session)
    case .string("noop")? where parts.count == 1: return .noop
    case .string("close")? where parts.count == 1: return .close
    case .string("stop")? where parts.count == 1: return .stop
    case .object(let members)? where parts.count == 1:
      return members["error"].map { .error(ChannelError($0)) } ?? .message(parts[0])
    default: break
    }
    throw Violation("an array has an unknown content: \(text(json))")
  }

  /// The numbers of the answer to a forward request: `[back channel is open, last id, bytes]`.
  package static func status(
    in frame: [UInt8]
  ) throws(Violation) -> (hasBackChannel: Bool, lastID: Int, bytes: Int) {
    var numbers: [Int] = []
    for part in try elements(of: frame) { numbers.append(Int(String(decoding: part, as: UTF8.self)) ?? -1) }
    guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }), numbers[0] <= 1 else {
      throw Violation("the answer to a forward request is \(text(frame))")
    }
    return (numbers[0] == 1, numbers[1], numbers[2])
  }

  /// The elements of an array, each as its JSON.
  private static func elements(of json: [UInt8]) throws(Violation) -> [[UInt8]] {
    do {
      var reader = try JSONReader(json.rawSpan)
      guard try reader.kind() == .array else { throw Violation("\(text(json)) is no array") }
      try reader.skip()
      try reader.finish()
    } catch {
      throw Violation("\(text(json)) is no array of JSON")
    }
    return split(json)
  }

  /// Splits an array that is known to be valid.
  private static func split(_ json: [UInt8]) -> [[UInt8]] {
    var elements: [[UInt8]] = []
    var element: [UInt8] = []
    var (depth, isText, isEscaped) = (0, false, false)
    for byte in json {
      let wasText = isText
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else {
          isText = byte != UInt8(ascii: "\"")
        }
      } else if byte == UInt8(ascii: "\"") {
        isText = true
      } else if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") {
        depth += 1
        if depth == 1 { continue }
      } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") {
        depth -= 1
        if depth == 0 { break }
      }
      if byte == UInt8(ascii: ","), depth == 1, !wasText {
        elements.append(element)
        element = []
      } else if wasText || !(byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09) {
        element.append(byte)
      }
    }
    return element.isEmpty ? elements : elements + [element]
  }

  private static func text(_ json: [UInt8]) -> String { String(decoding: json.prefix(200), as: UTF8.self) }
}

/// The error with which a call has ended.
package struct ChannelError: Sendable, Hashable {
  package let code: Int?
  package let status: String
  package let message: String

  init(_ tree: JSONTree) {
    if case .number(let number)? = tree["code"] { code = Int(exactly: number) } else { code = nil }
    status = tree["status"]?.text ?? ""
    message = tree["message"]?.text ?? ""
  }
}

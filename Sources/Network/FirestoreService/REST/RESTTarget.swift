// The target of a request: a path, and parameters.
//
//   target     := "/v1/" name [":" verb] ["?" parameters]
//   parameters := parameter *("&" parameter)
//   parameter  := key ["=" value]
//
// Names, keys and values are percent-encoded. In a parameter, a plus sign stands for a space.

internal import FirestoreWire
internal import OfflineSync

struct RESTTarget {
  /// The resource name, decoded, without the verb.
  let name: String
  /// The part after the last colon of the last segment; nil if there is none.
  let verb: String?
  let parameters: [(key: String, value: String)]

  static let notFound = RemoteError(.notFound, "Not Found")

  /// `mayHaveVerb` is false for methods of HTTP whose target is always a name.
  init(_ target: String, mayHaveVerb: Bool) throws(RemoteError) {
    let parts = target.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    let prefix = "/v1/".utf8
    guard let path = parts.first, path.starts(with: prefix) else { throw Self.notFound }
    var name = path.dropFirst(prefix.count)
    var verb: String?
    // A colon may be in the id of a document, so only a verb that exists ends a name.
    let last = name.lastIndex(of: UInt8(ascii: "/")) ?? name.startIndex
    if mayHaveVerb, let colon = name[last...].lastIndex(of: UInt8(ascii: ":")) {
      let text = String(Substring(name[name.index(after: colon)...]))
      if RESTVerb(rawValue: text) != nil || name[..<colon].hasSuffix("/documents") {
        verb = text
        name = name[..<colon]
      }
    }
    self.name = try Self.decoded(name, plusIsSpace: false)
    self.verb = verb
    var parameters: [(key: String, value: String)] = []
    if parts.count > 1 {
      for pair in parts[1].split(separator: UInt8(ascii: "&")) {
        let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        parameters.append(
          (
            try Self.decoded(sides[0], plusIsSpace: true),
            sides.count > 1 ? try Self.decoded(sides[1], plusIsSpace: true) : ""
          ))
      }
    }
    self.parameters = parameters
  }

  /// Decodes percent-encoded UTF-8.
  private static func decoded(
    _ text: Substring.UTF8View.SubSequence, plusIsSpace: Bool
  ) throws(RemoteError) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          throw RemoteError(.invalidArgument, "The request has a % without two hexadecimal digits.")
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw RemoteError(.invalidArgument, "The request is not UTF-8.")
    }
    return string
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension Substring.UTF8View.SubSequence {
  fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

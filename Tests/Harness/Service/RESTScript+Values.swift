// Names, values and writes of scripts.

extension RESTScript {
  func name(_ path: String) -> String { "\(documents)/\(path)" }

  mutating func id() -> String { pick(["a", "b", "c", "d", "é", "x y", "1"]) }

  mutating func collection() -> String {
    pick(["k", "k", "k", "l", "k/a/sub", "m/ghost/sub/deep/leaf"])
  }

  mutating func path() -> String { "\(collection())/\(id())" }

  mutating func invalidPath() -> String {
    pick([
      "k/a/sub", "k//b", "k/__a__", "__k__/a", "k/.", "k/..", "k/" + String(repeating: "x", count: 1501),
      "k/a/", "/a",
    ])
  }

  /// An invalid path in the target of a request. Clients and servers of HTTP normalize dots and slashes.
  mutating func invalidPlace() -> String {
    pick(["k/a/sub", "k/__a__", "__k__/a", "k/" + String(repeating: "x", count: 1501)])
  }

  /// A name in a message, which is not necessarily one of a document.
  mutating func invalidName() -> String {
    random.oneIn(2)
      ? name(invalidPath())
      : pick([
        "", "x", "k/a", documents, database, "\(database)/document/k/a",
        "projects/p/database/d/documents/k/a",
        "/\(documents)/k/a",
      ])
  }

  mutating func fieldPath() -> String {
    random.oneIn(10)
      ? pick(["", "a..b", "a-b", ".a", "a.", "`a", "``", "__a__", "__name__", "a b", "\u{E9}"])
      : pick(["n", "s", "m.k", "m", "l", "`a-b`", "m.`x y`", "t"])
  }

  mutating func mask() -> String {
    let paths = (0..<random.below(4)).map { _ in "\"\(fieldPath())\"" }
    return #"{"fieldPaths":[\#(paths.joined(separator: ","))]}"#
  }

  // MARK: Values

  /// A number. `EmulatorComparison` compares NaN, which the emulator orders in another way.
  mutating func number() -> String {
    random.oneIn(4)
      ? #"{"doubleValue":\#(pick(["0.5", "1.5", "-2.25", "1e300", "\"Infinity\"", "3"]))}"#
      : #"{"integerValue":"\#(pick(["0", "1", "2", "3", "-1", "9223372036854775807"]))"}"#
  }

  mutating func value(depth: Int = 0) -> String {
    switch random.below(depth == 0 ? 11 : 7) {
    case 0...2: return number()
    case 3: return #"{"stringValue":"\#(pick(["", "a", "b", "ä", "\\u0000", "\\uD83D\\uDE00"]))"}"#
    case 4: return pick([#"{"booleanValue":true}"#, #"{"booleanValue":false}"#, #"{"nullValue":null}"#])
    case 5:
      return #"{"timestampValue":"\#(pick(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456789Z"]))"}"#
    case 6: return #"{"bytesValue":"\#(pick(["", "AQID", "_-8=", "/+8"]))"}"#
    case 7: return #"{"geoPointValue":{"latitude":1.5,"longitude":-2}}"#
    case 8: return #"{"referenceValue":"\#(name(path()))"}"#
    case 9:
      let elements = (0..<random.below(3)).map { _ in value(depth: 1) }
      return #"{"arrayValue":{"values":[\#(elements.joined(separator: ","))]}}"#
    default: return #"{"mapValue":{"fields":{"k":\#(value(depth: 1)),"x y":\#(number())}}}"#
    }
  }

  mutating func invalidValue() -> String {
    pick([
      "{}", #"{"arrayValue":{"values":[{"arrayValue":{}}]}}"#, #"{"integerValue":"x"}"#,
      #"{"integerValue":"9223372036854775808"}"#, #"{"geoPointValue":{"latitude":91}}"#,
      #"{"geoPointValue":{"longitude":-181}}"#, #"{"timestampValue":"x"}"#,
      #"{"timestampValue":"0000-01-01T00:00:00Z"}"#, #"{"referenceValue":"x"}"#,
      #"{"referenceValue":"\#(name("k"))"}"#, #"{"bytesValue":"*"}"#, #"{"booleanValue":"yes"}"#,
      #"{"mapValue":{"fields":{"":{"nullValue":null}}}}"#,
      #"{"mapValue":{"fields":{"__a__":{"nullValue":null}}}}"#,
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"}}}}"#,
      #"{"arrayValue":{"values":[{}]}}"#,
    ])
  }

  mutating func fields() -> String {
    var members: [String] = []
    for name in ["n", "s", "m", "l", "a-b", "t"] where random.oneIn(2) {
      members.append("\"\(name)\":\(name == "n" ? number() : value())")
    }
    return "{\(members.joined(separator: ","))}"
  }

  mutating func invalidFields() -> String {
    random.oneIn(3)
      ? #"{"\#(pick(["", "__a__", "__name__"]))":\#(value())}"# : #"{"n":\#(invalidValue())}"#
  }

  // MARK: Writes

  mutating func update() -> String { #"{"update":{"name":"\#(name(path()))","fields":\#(fields())}}"# }

  mutating func write() -> String {
    if random.oneIn(12) { return invalidWrite() }
    let path = name(path())
    var parts: [String]
    switch random.below(10) {
    case 0...5:
      parts = [#""update":{"name":"\#(path)","fields":\#(random.oneIn(20) ? invalidFields() : fields())}"#]
      if random.oneIn(3) { parts.append(#""updateMask":\#(mask())"#) }
      if random.oneIn(3) { parts.append(#""updateTransforms":[\#(transforms())]"#) }
      if random.oneIn(4) { parts.append(precondition()) }
    case 6...7:
      parts = [#""delete":"\#(path)""#]
      if random.oneIn(3) { parts.append(precondition()) }
    case 8:
      parts = [#""verify":"\#(path)""#]
      if !random.oneIn(5) { parts.append(precondition()) }
    default:
      parts = [#""transform":{"document":"\#(path)","fieldTransforms":[\#(transforms())]}"#]
      if random.oneIn(4) { parts.append(precondition()) }
    }
    return "{\(parts.joined(separator: ","))}"
  }

  private mutating func precondition() -> String {
    let condition = pick([
      #""exists":true"#, #""exists":false"#, #""updateTime":"2020-01-01T00:00:00Z""#, "",
      #""updateTime":"x""#,
    ])
    return #""currentDocument":{\#(condition)}"#
  }

  private mutating func transforms() -> String {
    (0..<random.below(3)).map { _ in transform() }.joined(separator: ",")
  }

  private mutating func transform() -> String {
    let operation: String
    switch random.below(8) {
    case 0: operation = #""setToServerValue":"REQUEST_TIME""#
    case 1: operation = #""maximum":\#(number())"#
    case 2: operation = #""minimum":\#(number())"#
    case 3: operation = #""appendMissingElements":{"values":[\#(value(depth: 1)),\#(value(depth: 1))]}"#
    case 4: operation = #""removeAllFromArray":{"values":[\#(value(depth: 1))]}"#
    case 5 where random.oneIn(3):
      operation = pick([
        #""increment":{"stringValue":"1"}"#, #""setToServerValue":"SERVER_VALUE_UNSPECIFIED""#,
        #""setToServerValue":"FOO""#, #""maximum":{"nullValue":null}"#, "",
      ])
    default: operation = #""increment":\#(number())"#
    }
    return #"{"fieldPath":"\#(fieldPath())"\#(operation.isEmpty ? "" : ",\(operation)")}"#
  }

  private mutating func invalidWrite() -> String {
    switch random.below(6) {
    case 0: "{}"
    case 1: #"{"delete":"\#(invalidName())"}"#
    case 2: #"{"update":{"name":"\#(invalidName())"}}"#
    case 3: #"{"verify":"\#(invalidName())","currentDocument":{"exists":true}}"#
    case 4: #"{"delete":"\#(name(path()))","updateMask":{"fieldPaths":["n"]}}"#
    default:
      #"{"delete":"\#(name(path()))","updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"1"}}]}"#
    }
  }
}

// Requests of WebChannel as the peer of a scenario reads them.
//
//   target := "/google.firestore.v1.Firestore/" method "/channel?" pairs
//   body   := ["headers=" list "&"] "count=" N "&ofs=" first *("&req" n "___data__=" message)

import FirestoreWire
import Foundation
import HTTPClient

/// The parts of a request, percent-decoded.
struct PeerRequest {
  enum Kind { case opening, forward, back, termination }

  let kind: Kind
  /// "Listen" or "Write".
  let method: String
  private let parameters: [String: String]
  private let form: [String: String]

  init(_ request: WebRequest) throws(ScenarioFailure) {
    let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let names = parts[0].split(separator: "/")
    guard parts.count == 2, names.count == 3, names[0] == "google.firestore.v1.Firestore",
      names[1] == "Listen" || names[1] == "Write", names[2] == "channel"
    else { throw ScenarioFailure("a request outside the streams: \(request.target)") }
    method = String(names[1])
    parameters = try Self.pairs(parts[1])
    form = try Self.pairs(Substring(String(decoding: request.body ?? [], as: UTF8.self)))
    switch (request.method, parameters["SID"], parameters["TYPE"]) {
    case ("POST", nil, nil): kind = .opening
    case ("POST", _?, nil): kind = .forward
    case ("POST", _?, "terminate"): kind = .termination
    case ("GET", _?, "xmlhttp"): kind = .back
    default: throw ScenarioFailure("a request of no kind: \(request.method) \(request.target)")
    }
    try require("VER", "8")
    try require("database", WebChannelRemote.database.text)
    if kind == .opening {
      try require("CVER", "22")
      try require("X-HTTP-Session-Id", "gsessionid")
    }
    if kind == .back { try require("RID", "rpc") }
  }

  func require(_ name: String, _ value: String) throws(ScenarioFailure) {
    guard parameters[name] == value else {
      throw ScenarioFailure("\(name) is \(parameters[name] ?? "missing") in place of \(value)")
    }
  }

  /// A number in the target.
  func number(_ name: String) throws(ScenarioFailure) -> Int {
    guard let number = parameters[name].flatMap({ Int($0) }), number >= 0 else {
      throw ScenarioFailure("\(name) is \(parameters[name] ?? "missing") and no number")
    }
    return number
  }

  var session: String? { parameters["SID"] }

  /// The header fields that ride in the body of the first request.
  var fields: [String: String] {
    var fields: [String: String] = [:]
    for line in (form["headers"] ?? "").split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[String(parts[0])] = parts.count == 2 ? String(parts[1]) : ""
    }
    return fields
  }

  /// The messages in the body, of which the first one has to have this number.
  func messages(from first: Int) throws(ScenarioFailure) -> [[UInt8]] {
    guard let count = form["count"].flatMap({ Int($0) }), count > 0, form["ofs"] == "\(first)" else {
      throw ScenarioFailure("message \(first) is awaited, and the body is \(form)")
    }
    var messages: [[UInt8]] = []
    for place in 0..<count {
      guard let message = form["req\(place)___data__"] else {
        throw ScenarioFailure("message \(place) of \(count) is missing")
      }
      messages.append(Array(message.utf8))
    }
    guard form.keys.filter({ $0.hasPrefix("req") }).count == count else {
      throw ScenarioFailure("the body has other messages than \(count)")
    }
    return messages
  }

  private static func pairs(_ text: Substring) throws(ScenarioFailure) -> [String: String] {
    var pairs: [String: String] = [:]
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = decoded(parts[0]), let value = decoded(parts[1]),
        pairs.updateValue(value, forKey: name) == nil
      else { throw ScenarioFailure("a pair is malformed or there twice: \(pair)") }
    }
    return pairs
  }

  private static func decoded(_ text: Substring) -> String? {
    text.replacingOccurrences(of: "+", with: " ").removingPercentEncoding
  }
}

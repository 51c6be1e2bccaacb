// Streams of documents by WebChannel, beside gRPC.

#if Server
enum DeliveryRows {
  private static let ratioMax = 2.0

  static func parts(in directory: String) throws -> [RowPart] {
    let server = try DeliveryServer("\(directory)/delivered")
    let count = DeliveryServer.documents
    return parts("a document of a first answer of \(count)", server.firstAnswer)
      + parts(
        "a change of one of \(count) documents in batches", server.changes, withoutListener: server.changes)
      + parts("a document of \(count) in a write stream", server.upload, hasNotes: false)
  }

  /// The time, the processor time and the bytes of one operation.
  private static func parts(
    _ title: String, _ measure: @escaping (StreamProtocol) throws -> DeliveryCost,
    withoutListener: ((StreamProtocol?) throws -> DeliveryCost)? = nil, hasNotes: Bool = true
  ) -> [RowPart] {
    let seen = SeenCosts()
    func subjects(_ unit: String, _ value: @escaping (DeliveryCost) -> Double) -> [RowSubject] {
      StreamProtocol.allCases.map { way in
        RowSubject(name: way.rawValue, unit: unit) {
          let cost = try measure(way)
          seen.add(cost, by: way)
          return value(cost)
        }
      }
    }
    let goals = [RowGoal(subject: StreamProtocol.webChannel.rawValue, ratioMax: ratioMax)]
    var processor = RowPart(
      title: "\(title), processor time of the server", subjects: subjects("ns", \.serverTime), goals: goals)
    if let withoutListener {
      processor.subjects.append(
        RowSubject(name: "without a listener") { try withoutListener(nil).serverTime })
    }
    return [
      RowPart(
        title: "\(title), until it has arrived", subjects: subjects("ns", \.time), goals: goals,
        notes: hasNotes ? { seen.notes } : nil),
      processor,
      RowPart(
        title: "\(title), bytes of the client's connections", subjects: subjects("B", \.bytes), goals: goals
      ),
    ]
  }
}

/// The costs of a part's rounds.
private final class SeenCosts {
  private var costs: [StreamProtocol: [DeliveryCost]] = [:]

  func add(_ cost: DeliveryCost, by way: StreamProtocol) { costs[way, default: []].append(cost) }

  /// Whether the client or the server limits the rate.
  var notes: [String] {
    StreamProtocol.allCases.map { way in
      let rate = median(way) { 1e6 / $0.time }
      let client = median(way) { $0.clientTime }
      let share = median(way) { 100 * $0.clientTime / $0.time }
      let server = median(way) { $0.serverTime }
      return
        "\(way.rawValue): \(Int(rate)) thousand a second. The client's thread takes \(Int(client)) ns of "
        + "its processor, \(Int(share)) % of the time, and the server \(Int(server)) ns."
    }
  }

  private func median(_ way: StreamProtocol, _ value: (DeliveryCost) -> Double) -> Double {
    let values = (costs[way] ?? []).map(value).sorted()
    return values.isEmpty ? 0 : values[values.count / 2]
  }
}
#endif

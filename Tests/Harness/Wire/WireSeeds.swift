// Valid inputs of the fuzz target for messages.

import FirestoreWire

/// Valid inputs of the target: several random messages of every kind, and messages that have a translation,
/// in both encodings.
struct WireSeeds {
  private(set) var inputs: [[UInt8]] = []

  init(seed: UInt64) {
    for (number, type) in WireMessages.all.enumerated() {
      for round in 0..<UInt64(6) {
        add(UInt8(number), type, seed: SeededRandom.seed(seed, UInt64(number), round))
      }
    }
    addQueries(seed)
    addWrites(seed)
    addChanges()
  }

  // MARK: Messages that have a translation

  private static let translatedCount: UInt64 = 12
  private static let name = "\(ServiceSeeds.documentsName)/c/1"

  private mutating func addQueries(_ seed: UInt64) {
    add(Wire.StructuredQuery.self, ServiceSeeds.query)
    for round in 0..<Self.translatedCount {
      var script = RESTScript(seed: SeededRandom.seed(seed, round), database: ServiceSeeds.database)
      let query = script.query().query
      let parent = #""parent":"\#(ServiceSeeds.documentsName)\#(round % 2 == 0 ? "" : "/c/1")""#
      let request = #"{\#(parent),"structuredQuery":\#(query)}"#
      let aggregations = #"{"structuredQuery":\#(query),"aggregations":[\#(script.aggregations())]}"#
      add(Wire.StructuredQuery.self, query)
      add(Wire.RunQueryRequest.self, request)
      add(Wire.StructuredAggregationQuery.self, aggregations)
      add(
        Wire.RunAggregationQueryRequest.self, #"{\#(parent),"structuredAggregationQuery":\#(aggregations)}"#)
      let resume = ["", #","resumeToken":"AQID","expectedCount":3"#, #","readTime":"2024-01-01T00:00:00Z""#]
      let target = #"{"targetId":2,"query":\#(request)\#(resume[Int(round % 3)])}"#
      add(Wire.Target.self, target)
      let label = #""labels":{"goog-listen-tags":"limbo-document"}"#
      add(Wire.ListenRequest.self, #"{"addTarget":\#(target),\#(label)}"#)
    }
    let documents = #"{"targetId":-4,"documents":{"documents":["\#(Self.name)"]},"once":true}"#
    add(Wire.Target.self, documents)
  }

  private mutating func addWrites(_ seed: UInt64) {
    add(Wire.Write.self, ServiceSeeds.write)
    for round in 0..<Self.translatedCount {
      var script = RESTScript(seed: SeededRandom.seed(seed, round), database: ServiceSeeds.database)
      for _ in 0..<2 { add(Wire.Write.self, script.write()) }
      let times = #""createTime":"2024-01-01T00:00:00.000001Z","updateTime":"2024-01-02T00:00:00Z""#
      add(Wire.Document.self, #"{"name":"\#(Self.name)","fields":\#(script.fields()),\#(times)}"#)
    }
  }

  private mutating func addChanges() {
    let (time, name) = (#""readTime":"2024-01-02T00:00:00.5Z""#, Self.name)
    let document =
      #"{"name":"\#(name)","fields":{"n":{"integerValue":"1"}},"updateTime":"2024-01-01T00:00:00Z"}"#
    let filter = #"{"bits":{"bitmap":"AQID","padding":3},"hashCount":7}"#
    for change in [
      #""targetChange":{"targetChangeType":"CURRENT","targetIds":[2,-1],"resumeToken":"AQ=="}"#,
      #""targetChange":{"resumeToken":"AQ==",\#(time)}"#,
      #""targetChange":{"targetChangeType":"REMOVE","targetIds":[2],"cause":{"code":5,"message":"a"}}"#,
      #""documentChange":{"document":\#(document),"targetIds":[2,4],"removedTargetIds":[6]}"#,
      #""documentDelete":{"document":"\#(name)",\#(time),"removedTargetIds":[2,4]}"#,
      #""documentRemove":{"document":"\#(name)",\#(time),"removedTargetIds":[2]}"#,
      #""filter":{"targetId":2,"count":3,"unchangedNames":\#(filter)}"#,
    ] {
      add(Wire.ListenResponse.self, "{\(change)}")
    }
  }

  // MARK: Inputs

  /// Adds a message if it is valid. Random ones need not be.
  private mutating func add<Message: WireMessage>(_ type: Message.Type, _ json: String) {
    let json = Array(json.utf8)
    guard let kind = WireMessages.all.firstIndex(where: { $0 == type }) else {
      preconditionFailure("\(type) is not a message of Firestore")
    }
    inputs.append([UInt8(kind), 1] + json)
    if let message = try? Message(json: json).protobuf() { inputs.append([UInt8(kind), 0] + message) }
  }

  private mutating func add<Message: WireMessage>(_ kind: UInt8, _ type: Message.Type, seed: UInt64) {
    var random = RandomFields(seed: seed)
    guard let message = try? random.filled(Message.self) else { return }
    if let protobuf = try? message.protobuf() { inputs.append([kind, 0] + protobuf) }
    if let json = try? message.json() { inputs.append([kind, 1] + json) }
  }
}

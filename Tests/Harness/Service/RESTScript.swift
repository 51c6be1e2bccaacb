// Random scripts of requests: valid ones that meet in few documents, and invalid ones.
//
// While a transaction that can write is open, a script writes only in its commit. The emulator locks what a
// transaction has read, so another write would wait until it fails; our service lets it through, and the
// commit of the transaction fails.

package struct RESTScript: Sendable {
  package let database: String
  var random: SeededRandom
  package private(set) var steps: [RESTStep] = []
  /// The symbol of the transaction that is open; nil if there is none.
  private var transaction: String?
  private var symbolCount = 0

  package init(seed: UInt64, stepCount: Int) {
    random = SeededRandom(seed: seed)
    database = "projects/p\(String(seed, radix: 36))/databases/(default)"
    for _ in 0..<6 {
      steps.append(step("POST", ":commit", commit((0...random.below(3)).map { _ in update() })))
    }
    while steps.count < stepCount { add() }
    if let transaction { end(transaction) }
  }

  /// A script without steps, for parts of requests to another database.
  init(seed: UInt64, database: String) {
    random = SeededRandom(seed: seed)
    self.database = database
  }

  var documents: String { "\(database)/documents" }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

  private mutating func symbol(_ kind: String) -> String {
    symbolCount += 1
    return "\(kind)\(symbolCount)"
  }

  mutating func add(_ step: RESTStep) { steps.append(step) }

  func step(_ method: String, _ place: String, _ body: String = "") -> RESTStep {
    RESTStep(method, "\(documents)\(place)", body)
  }

  // MARK: Steps

  private mutating func add() {
    guard let transaction else { return addPlain() }
    switch random.below(8) {
    case 0, 1: end(transaction)
    case 2...5: addRead(in: transaction)
    default: addRead(in: nil)
    }
  }

  private mutating func addPlain() {
    switch random.below(20) {
    case 0...4: steps.append(step("POST", ":commit", commit((0..<random.below(4)).map { _ in write() })))
    case 5: addBatchWrite()
    case 6...7: addDocumentWrite()
    case 8: begin()
    case 9: addInvalidTransaction()
    case 10: addInvalidBody()
    default: addRead(in: nil)
    }
  }

  func commit(_ writes: [String], in transaction: String? = nil) -> String {
    let part = transaction.map { #","transaction":"⟨\#($0)⟩""# } ?? ""
    return #"{"writes":[\#(writes.joined(separator: ","))]\#(part)}"#
  }

  private mutating func addBatchWrite() {
    let writes = (0..<random.below(4)).map { _ in write() }
    steps.append(step("POST", ":batchWrite", #"{"writes":[\#(writes.joined(separator: ","))]}"#))
  }

  // MARK: Transactions

  private mutating func begin() {
    let isReadOnly = random.oneIn(3)
    var begun = step("POST", ":beginTransaction", isReadOnly ? #"{"options":{"readOnly":{}}}"# : "{}")
    let symbol = symbol("transaction")
    begun.captures = [(symbol, "transaction")]
    steps.append(begun)
    transaction = symbol
  }

  private mutating func end(_ symbol: String) {
    if random.oneIn(3) {
      steps.append(step("POST", ":rollback", #"{"transaction":"⟨\#(symbol)⟩"}"#))
    } else {
      steps.append(step("POST", ":commit", commit((0..<random.below(3)).map { _ in write() }, in: symbol)))
      // A commit that cannot be tried leaves the transaction open.
      steps.append(step("POST", ":rollback", #"{"transaction":"⟨\#(symbol)⟩"}"#))
    }
    if random.oneIn(2) { steps.append(step("POST", ":commit", commit([update()], in: symbol))) }
    if random.oneIn(3) {
      steps.append(
        step("POST", ":batchGet", #"{"documents":["\#(name(path()))"],"transaction":"⟨\#(symbol)⟩"}"#))
    }
    transaction = nil
  }

  private mutating func addInvalidTransaction() {
    let id = pick(["aaaa", "", "!!", "EQ==", "AAAAAAAAAAAAAAAAAAAAAAA="])
    switch random.below(4) {
    case 0: steps.append(step("POST", ":rollback", #"{"transaction":"\#(id)"}"#))
    case 1: steps.append(step("POST", ":commit", #"{"transaction":"\#(id)","writes":[\#(update())]}"#))
    case 2:
      steps.append(
        step("POST", ":batchGet", #"{"documents":["\#(name(path()))"],"transaction":"\#(id)"}"#))
    default:
      steps.append(
        step(
          "POST", ":beginTransaction", #"{"options":{"readWrite":{"retryTransaction":"\#(id)"}}}"#))
    }
  }

  private mutating func addInvalidBody() {
    guard !random.oneIn(8) else {
      let verify = #"{"verify":"\#(name(path()))","currentDocument":{"exists":true}}"#
      return steps.append(step("POST", ":commit", commit([verify, verify])))
    }
    let place = pick([":commit", ":batchGet", ":runQuery", ":beginTransaction", ":batchWrite"])
    let body = pick([
      "{bad", "[]", "1", #"{"writes":{}}"#, #"{"writes":[{"delete":"x","verify":"y"}]}"#, #"{"documents":1}"#,
      #"{"structuredQuery":[]}"#, #"{"options":{"readOnly":{},"readWrite":{}}}"#, #"{"unknown":1}"#, "",
    ])
    var invalid = step("POST", place, body)
    invalid.mayHaveUnknownFields = true
    steps.append(invalid)
  }

  // MARK: Reads

  private mutating func addRead(in transaction: String?) {
    var selector = transaction.map { #","transaction":"⟨\#($0)⟩""# } ?? ""
    if transaction == nil, random.oneIn(12) {
      let time = pick(["2000-01-01T00:00:00Z", "9000-01-01T00:00:00Z", "x"])
      selector = #","readTime":"\#(time)""#
    }
    switch random.below(transaction == nil ? 12 : 5) {
    case 0...1:
      var names = (0...random.below(4)).map { _ in "\"\(name(random.oneIn(15) ? invalidPath() : path()))\"" }
      if random.oneIn(4), let first = names.first { names.append(first) }
      let mask = random.oneIn(3) ? #","mask":\#(mask())"# : ""
      steps.append(
        step("POST", ":batchGet", #"{"documents":[\#(names.joined(separator: ","))]\#(mask)\#(selector)}"#))
    case 2...3:
      let (place, query) = anyQuery(in: transaction)
      steps.append(step("POST", "\(place):runQuery", #"{"structuredQuery":\#(query)\#(selector)}"#))
    case 4:
      let (place, query) = anyQuery(in: transaction)
      let aggregations = aggregations()
      steps.append(
        step(
          "POST", "\(place):runAggregationQuery",
          #"{"structuredAggregationQuery":{"structuredQuery":\#(query),"aggregations":[\#(aggregations)]}\#(selector)}"#
        ))
    case 5...6: addGet()
    case 7...8: addList()
    case 9...10: addCollectionIds()
    default:
      let (place, query) = anyQuery(in: transaction)
      steps.append(step("POST", "\(place):runQuery", #"{"structuredQuery":\#(query)}"#))
    }
  }

  private mutating func addGet() {
    var get = step("GET", "/\(random.oneIn(10) ? invalidPlace() : path())")
    if random.oneIn(3) {
      get.parameters = (0...random.below(2)).map { _ in ("mask.fieldPaths", fieldPath()) }
    }
    steps.append(get)
  }

  private mutating func addList() {
    var list = step("GET", "/\(collection())")
    if random.oneIn(2) { list.parameters.append(("pageSize", pick(["1", "2", "3", "0", "-1"]))) }
    if random.oneIn(4) { list.parameters.append(("mask.fieldPaths", fieldPath())) }
    if random.oneIn(4) { list.parameters.append(("showMissing", "true")) }
    if random.oneIn(4) {
      let order = pick([
        "n", "n desc", "s,n desc", "__name__ desc", "n asc,__name__", "n up", ",", "a-b", "`n`",
      ])
      list.parameters.append(("orderBy", order))
      return steps.append(list)
    }
    let symbol = symbol("page")
    list.captures = [(symbol, "nextPageToken")]
    steps.append(list)
    guard random.oneIn(2) else { return }
    list.parameters.append(("pageToken", random.oneIn(6) ? "xyz" : "⟨\(symbol)⟩"))
    list.captures = []
    steps.append(list)
  }

  private mutating func addCollectionIds() {
    let place = random.oneIn(2) ? "" : "/\(random.oneIn(10) ? invalidPlace() : path())"
    let size = pick(["", #""pageSize":1"#, #""pageSize":2"#, #""pageSize":-1"#, #""pageToken":"zzz""#])
    var list = step("POST", "\(place):listCollectionIds", "{\(size)}")
    let symbol = symbol("page")
    list.captures = [(symbol, "nextPageToken")]
    steps.append(list)
    guard size.hasSuffix(":1") else { return }
    steps.append(
      step("POST", "\(place):listCollectionIds", #"{"pageSize":1,"pageToken":"⟨\#(symbol)⟩"}"#))
  }

  // MARK: Writes of one document

  private mutating func addDocumentWrite() {
    let fields = random.oneIn(8) ? invalidFields() : fields()
    switch random.below(4) {
    case 0:
      var create = step("POST", "/\(collection())", #"{"fields":\#(fields)}"#)
      create.parameters = [("documentId", random.oneIn(8) ? pick(["__x__", "a/b", ".", ".."]) : id())]
      if random.oneIn(3) { create.parameters.append(("mask.fieldPaths", fieldPath())) }
      steps.append(create)
    case 1...2:
      var patch = step("PATCH", "/\(random.oneIn(12) ? invalidPlace() : path())", #"{"fields":\#(fields)}"#)
      if random.oneIn(2) {
        for _ in 0...random.below(2) { patch.parameters.append(("updateMask.fieldPaths", fieldPath())) }
      }
      if random.oneIn(3) { patch.parameters.append(("mask.fieldPaths", fieldPath())) }
      if random.oneIn(3) { patch.parameters.append(("currentDocument.exists", pick(["true", "false"]))) }
      steps.append(patch)
    default:
      var delete = step("DELETE", "/\(random.oneIn(12) ? invalidPlace() : path())")
      if random.oneIn(2) { delete.parameters.append(("currentDocument.exists", pick(["true", "false"]))) }
      steps.append(delete)
    }
  }
}

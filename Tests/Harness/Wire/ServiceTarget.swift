// Fuzzes the calls of Firestore's protocol, from bytes to bytes.
//
//   input   := method:u8 form:u8 request*
//   request := size:u16 byte{size}                          little-endian; the last one may be shorter
//
// A call must end with one status, or the input runs for ever. Its answers must be messages of the method,
// byte for byte as their encoder writes them.
// Each input begins with the same documents in a store of its own.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync

struct ServiceTarget: FuzzTarget {
  static let name = "service"
  let seeds: [[UInt8]]

  /// The message of a status travels in the headers of an answer.
  private static let messageBytesMax = 4100

  init(seed: UInt64) { seeds = ServiceSeeds().inputs }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 2 else { return "too short" }
    let method = ServiceMethods.all[Int(input[0]) % ServiceMethods.all.count]
    let format: WireFormat = input[1] & 1 == 0 ? .protobuf : .json
    let events = try Self.call(method.name, format, Self.requests(Array(input.dropFirst(2))))
    guard case .ended(let error)? = events.last else { throw FuzzFinding("\(method.name) has no status") }
    for (number, event) in events.enumerated() {
      switch event {
      case .message(let bytes): try method.check(bytes, format)
      case .ended:
        guard number == events.count - 1 else { throw FuzzFinding("\(method.name) goes on after its status") }
      }
    }
    try method.check(answers: events.count - 1, error)
    let answers = events.count > 1 ? "with answers" : "without answers"
    guard let error else { return "\(method.name): ok, \(answers)" }
    guard error.message.utf8.count <= Self.messageBytesMax else {
      throw FuzzFinding("\(method.name): a status has a message of \(error.message.utf8.count) bytes")
    }
    guard error.code != .internal, error.code != .unknown else {
      throw FuzzFinding("\(method.name): \(error)")
    }
    let text = String(error.message.prefix { !"'\"/".contains($0) }).withoutNumbers.prefix(40)
    return "\(method.name): \(error.code) \(text), \(answers)"
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    guard input.count > 4, !random.oneIn(4) else { return nil }
    var requests = Self.requests(Array(input.dropFirst(2)))
    let others = Self.requests(Array(other.dropFirst(2)))
    guard !requests.isEmpty else { return nil }
    let place = random.below(requests.count)
    let another = others.randomElement(using: &random) ?? []
    switch random.below(8) {
    case 0: requests.append(another)
    case 1: requests.append(requests[place])
    default:
      requests[place] =
        input[1] & 1 == 0
        ? WireMutator.mutated(requests[place], other: another, &random)
        : JSONMutator.mutated(requests[place], other: another, &random)
    }
    return Array(input.prefix(2)) + requests.flatMap(Self.written)
  }

  // MARK: Calls

  /// Makes a call, and returns its events.
  private static func call(
    _ method: String, _ format: WireFormat, _ requests: [[UInt8]]
  ) throws(FuzzFinding) -> [ServiceEvent] {
    do {
      let store = try DocumentStore.openInMemory(options: options)
      defer { try? store.close() }
      try store.commit(ServiceSeeds.documents)
      let service = try FirestoreService(databases: [ServiceSeeds.database: Authority.of(store)])
      let blocks = Locked<[@Sendable () -> Void]>([])
      let events = Locked<[ServiceEvent]>([])
      let queue = ServiceQueue { block in
        blocks.withLock { $0.append(block) }
        blocks.wakeAll()
      }
      func runBlocks() {
        while let block = blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { block() }
      }
      let call = service.handle(method, metadata: CallMetadata(), format: format, on: queue) { event in
        events.withLock { $0.append(event) }
      }
      for request in requests {
        call.send(request)
        runBlocks()
      }
      call.finish()
      runBlocks()
      // Commits of a write stream run on other threads, which add blocks when they are done.
      while !events.withLock({ $0.contains(where: isEnd) }) {
        blocks.withLock(when: { !$0.isEmpty }) { _ in }
        runBlocks()
      }
      return events.withLock { $0 }
    } catch {
      throw FuzzFinding("\(method): \(error)")
    }
  }

  private static func isEnd(_ event: ServiceEvent) -> Bool { if case .ended = event { true } else { false } }

  private static var options: DocumentStore.Options {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return options
  }

  // MARK: Requests

  private static func requests(_ bytes: [UInt8]) -> [[UInt8]] {
    var requests: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 2, requests.count < 8 {
      let size = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
      rest = rest.dropFirst(2)
      requests.append(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return requests
  }

  static func written(_ request: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: request.count), UInt8(truncatingIfNeeded: request.count >> 8)]
      + request.prefix(0xFFFF)
  }
}

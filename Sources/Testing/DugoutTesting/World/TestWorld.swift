// A world: an authority, its clients, the network between them, and their time.

internal import Authority
internal import ByteStore
public import FirebaseFirestore
internal import OfflineSync

/// An authority and its clients, which run in virtual time and whose faults a seed decides.
///
/// ```swift
/// func notesReachTheOtherPhone() async throws {
///   try await TestWorld.run(seed: 7) { world in
///     let phone = try world.client("phone")
///     let tablet = try world.client("tablet")
///     world.network.setFaults(.flaky)
///     try await phone.firestore.document("notes/1").setData(["text": "milk"])
///     try await world.checkConvergence(of: "notes")
///     let note = try await tablet.firestore.document("notes/1").getDocument()
///     print(note.data() ?? [:], world.time.elapsed)
///   }
/// }
/// ```
///
/// Everything in the world runs one thing at a time, in an order that only depends on the seed: the code of
/// the test, the callbacks of the databases, timers and messages. Two runs with equal seeds have equal
/// histories. See the guide for what this covers.
public final class TestWorld: Sendable {
  /// The seed of the world.
  public let seed: UInt64
  /// The authority, with which all clients sync.
  public let authority: TestAuthority
  /// The network between the clients and the authority.
  public let network: TestNetwork
  let scheduler: WorldScheduler
  private let members: Locked<[TestClient]>
  private let events: Locked<[TestEvent]>
  private let idleWaits: IdleWaits
  private let failure = Locked<TestWorldError?>(nil)

  private init(seed: UInt64) throws {
    self.seed = seed
    let scheduler = WorldScheduler(seed: seed)
    let events = Locked<[TestEvent]>([])
    let members = Locked<[TestClient]>([])
    self.scheduler = scheduler
    self.events = events
    self.members = members
    idleWaits = IdleWaits(scheduler)
    authority = try TestAuthority(in: scheduler) { client, text in
      let time = Duration.microseconds(scheduler.now() - WorldScheduler.start)
      events.withLock { $0.append(TestEvent(time: time, client: client, text: text)) }
    }
    network = TestNetwork(clients: { members.withLock { $0 } }, initial: Locked(.none))
  }

  /// Runs a test in a new world, and returns what it returns. Without a seed, `TestSeed.current` is the seed.
  /// Throws `TestWorldError.invalidSeed` if that should come from the environment, but is no number.
  ///
  /// While the test is suspended, the world goes on: messages arrive, and time passes when nothing else can
  /// happen. A call that can never return therefore fails with `TestWorldError.stalled`, after an hour of
  /// virtual time or a minute of real time.
  ///
  /// Tasks that the test creates by `async let` and task groups belong to the world, and so do those of
  /// `task(_:)`. All clients are terminated at the end.
  public static func run<Value: Sendable>(
    seed: UInt64? = nil, _ test: @Sendable (TestWorld) async throws -> Value
  ) async throws -> Value {
    if seed == nil, TestSeed.ofTask == nil { try TestSeed.checkEnvironment() }
    let world = try TestWorld(seed: seed ?? TestSeed.current)
    world.scheduler.start(world)
    let result: Result<Value, any Error> = await withTaskExecutorPreference(world.scheduler) {
      let result: Result<Value, any Error>
      do { result = .success(try await test(world)) } catch { result = .failure(error) }
      await world.terminate()
      world.idleWaits.end()
      world.scheduler.finish()
      return result
    }
    if let failure = world.failure.withLock({ $0 }) { throw failure }
    return try result.get()
  }

  private func terminate() async {
    for client in members.withLock({ $0 }) + [authority.internalClient] { await client.terminate() }
  }

  // MARK: Clients

  /// Creates a client with an empty cache. `configure` may change its settings before the first use, except
  /// for the remote. If it sets a callback queue, callbacks run there and are outside the world. Throws
  /// `nameInUse` if the world has a client with this name.
  public func client(
    _ name: String, user: String? = nil,
    configure: @escaping @Sendable (FirestoreSettings) -> Void = { _ in }
  ) throws -> TestClient {
    let isTaken = name == "authority" || members.withLock { $0.contains { $0.name == name } }
    guard !isTaken else { throw TestWorldError.nameInUse(name) }
    let connection = TestConnection(to: authority.internalAuthority, seed: scheduler.random(), in: scheduler)
    {
      [weak self] in self?.record($0, of: name)
    }
    connection.remote.setFaults(network.initial.withLock { $0 }.loopback)
    let client = TestClient(name, user: user, connection: connection, in: scheduler, configure: configure)
    members.withLock { $0.append(client) }
    return client
  }

  /// The clients in the order in which they were created.
  public var clients: [TestClient] { members.withLock { $0 } }

  // MARK: Time and order

  /// The time of the world.
  public var time: TestTime { TestTime(world: scheduler) }

  /// Waits until the clients have nothing left to do: all writes are answered, all listeners are in sync, and
  /// no message is in transit. Clients that are cut off or have turned their network off are not waited for.
  /// Throws `notIdle` if that takes longer than the limit, in virtual time.
  public func waitUntilIdle(within limit: Duration = .seconds(600)) async throws {
    try await idleWaits.wait(within: limit.microseconds) { [weak self] in self?.remainingWork }
  }

  /// Creates a task that belongs to the world. `Task.init` creates tasks outside the world, whose order the
  /// seed does not decide.
  @discardableResult public func task<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) -> Task<Value, any Error> {
    Task(executorPreference: scheduler, operation: body)
  }

  /// Runs code that waits for something outside the world, such as a file or another actor, and stops the
  /// time of the world meanwhile. Do not wait there for a call of a client: its messages need the time. Such
  /// a wait never returns, and does not become a `stalled` error either.
  public func outside<Value: Sendable>(
    _ body: @Sendable () async throws -> Value
  ) async rethrows -> Value {
    let resume = scheduler.hold()
    defer { resume {} }
    return try await withTaskExecutorPreference(nil) { try await body() }
  }

  /// Returns random numbers for the choices of the test. Each call returns another generator.
  public func generator() -> SeededGenerator { SeededGenerator(seed: scheduler.random()) }

  // MARK: History

  /// Everything that has happened on the network, and the lines of `note(_:)`. Worlds with equal seeds and
  /// equal tests have equal histories.
  public var history: [TestEvent] { events.withLock { $0 } }

  /// Adds a line of the test to the history.
  public func note(_ text: String) { record(text, of: nil) }

  private func record(_ text: String, of client: String?) {
    let event = TestEvent(time: time.elapsed, client: client, text: text)
    events.withLock { $0.append(event) }
  }
}

// MARK: - What the scheduler asks

extension TestWorld: WorldOwner {
  /// A description of the first thing that the clients wait for; nil if they are idle.
  private var remainingWork: String? {
    for client in clients + [authority.internalClient] {
      let count = client.connection.lane.inTransitCount
      if count > 0 { return "\(count) messages of \(client) are in transit." }
      guard client.connection.remote.canReachAuthority, let work = client.driver?.remainingWork else {
        continue
      }
      return "\(client) waits for \(work)."
    }
    return nil
  }

  func wakeWaiters() -> Bool { idleWaits.wake() }

  var waitsForTime: Bool {
    if !idleWaits.isEmpty || remainingWork != nil { return true }
    return (clients + [authority.internalClient]).contains { $0.driver?.hasUnfinishedCalls ?? false }
  }

  func stall(_ kind: WorldScheduler.Stall) {
    let reason: String
    switch kind {
    case .inWorld(let microseconds):
      let waits = clients.compactMap { client in
        client.driver?.remainingWork.map { work in
          "\(client)\(client.connection.remote.canReachAuthority ? "" : ", which is cut off,") waits for \(work)."
        }
      }
      reason =
        "Nothing of it has run for \(microseconds / 60_000_000) minutes of virtual time. "
        + waits.joined(separator: " ")
        + " With the setting acknowledgement = .local, a write returns when it is in the outbox."
    case .outside:
      reason =
        "Nothing happens in the world any more, and for a minute nothing came from outside. All clients are "
        + "idle."
    }
    failure.withLock { $0 = $0 ?? .stalled(reason) }
    idleWaits.fail(TestWorldError.stalled(reason))
    let clients = clients + [authority.internalClient]
    Task(executorPreference: scheduler) { for client in clients { await client.terminate() } }
  }
}

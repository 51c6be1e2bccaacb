// Instruments that keep what they receive, for tests of the events and measurements.

package import ByteStore

/// Keeps all events and measurements in the order of their arrival.
package final class RecordedInstruments: Instruments {
  package struct Amount: Hashable, Sendable {
    package var name: InstrumentName
    package var amount: Int
  }

  package struct Time: Hashable, Sendable {
    package var name: InstrumentName
    package var duration: Duration
  }

  package struct Value: Hashable, Sendable {
    package var name: InstrumentName
    package var value: Double
  }

  private struct State {
    var events: [InstrumentEvent] = []
    var counts: [Amount] = []
    var times: [Time] = []
    var gauges: [Value] = []
    var databases: Set<String> = []
  }

  package let slowCommit: Duration
  package let slowQuery: Duration
  private let state = Locked(State())
  /// Called during each call, after it was recorded.
  private let duringCall: @Sendable () -> Void

  package init(
    slowCommit: Duration = .milliseconds(500), slowQuery: Duration = .milliseconds(500),
    duringCall: @escaping @Sendable () -> Void = {}
  ) {
    self.slowCommit = slowCommit
    self.slowQuery = slowQuery
    self.duringCall = duringCall
  }

  package func event(_ event: InstrumentEvent) {
    state.withLock { state in
      state.events.append(event)
      state.databases.insert(event.database)
    }
    duringCall()
  }

  package func count(_ name: InstrumentName, by amount: Int, in database: String) {
    state.withLock { state in
      state.counts.append(Amount(name: name, amount: amount))
      state.databases.insert(database)
    }
    duringCall()
  }

  package func time(_ name: InstrumentName, took duration: Duration, in database: String) {
    state.withLock { state in
      state.times.append(Time(name: name, duration: duration))
      state.databases.insert(database)
    }
    duringCall()
  }

  package func gauge(_ name: InstrumentName, is value: Double, in database: String) {
    state.withLock { state in
      state.gauges.append(Value(name: name, value: value))
      state.databases.insert(database)
    }
    duringCall()
  }

  // MARK: What arrived

  package var events: [InstrumentEvent] { state.withLock { $0.events } }

  package var eventNames: [InstrumentName] { events.map(\.name) }

  /// The directories of all calls.
  package var databases: Set<String> { state.withLock { $0.databases } }

  package func events(_ name: InstrumentName) -> [InstrumentEvent] { events.filter { $0.name == name } }

  /// The sum of a counter.
  package func total(_ name: InstrumentName) -> Int {
    state.withLock { $0.counts.reduce(0) { $1.name == name ? $0 + $1.amount : $0 } }
  }

  /// The durations of a timer.
  package func times(_ name: InstrumentName) -> [Duration] {
    state.withLock { $0.times.filter { $0.name == name }.map(\.duration) }
  }

  /// The values of a gauge.
  package func values(_ name: InstrumentName) -> [Double] {
    state.withLock { $0.gauges.filter { $0.name == name }.map(\.value) }
  }

  /// Forgets everything that has arrived so far.
  package func forget() { state.withLock { $0 = State() } }
}

// The recipes of docs/guides/observability.md, verbatim, each within the stand-in for its package.
//
// The lines match those of the page, with one more level of indentation.
// swift-format-ignore-file

import FirebaseFirestore

extension Logging {
  struct LogInstruments: Instruments {
    let logger = Logger(label: "dugout")

    func event(_ event: InstrumentEvent) {
      var metadata: Logger.Metadata = ["database": "\(event.database)"]
      for field in event.fields { metadata[field.name] = "\(field.value)" }
      logger.log(level: level(of: event), "\(event.name)", metadata: metadata)
    }

    private func level(of event: InstrumentEvent) -> Logger.Level {
      switch event.level {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      case .error: .error
      }
    }
  }
}

extension Metrics {
  struct MetricsInstruments: Instruments {
    func count(_ name: InstrumentName, by amount: Int, in database: String) {
      Counter(label: "dugout.\(name)", dimensions: [("database", database)]).increment(by: amount)
    }

    func time(_ name: InstrumentName, took duration: Duration, in database: String) {
      let (seconds, attoseconds) = duration.components
      Metrics.Timer(label: "dugout.\(name)", dimensions: [("database", database)])
        .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    func gauge(_ name: InstrumentName, is value: Double, in database: String) {
      Gauge(label: "dugout.\(name)", dimensions: [("database", database)]).record(value)
    }
  }
}

extension Tracing {
  struct TracingInstruments: Instruments {
    /// The timers that become spans.
    var names: Set<InstrumentName> = [.commit, .query, .flush, .throttle]

    func time(_ name: InstrumentName, took duration: Duration, in database: String) {
      guard names.contains(name) else { return }
      let (seconds, attoseconds) = duration.components
      let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
      let start = DefaultTracerClock.Timestamp(
        nanosecondsSinceEpoch: DefaultTracerClock.now.nanosecondsSinceEpoch - nanoseconds)
      let span = startSpan("dugout.\(name)", ofKind: .internal, at: start)
      span.attributes["database"] = .string(database)
      span.end()
    }
  }
}

extension OSLog {
  struct UnifiedLogInstruments: Instruments {
    let logger = Logger(subsystem: "com.example.shop", category: "database")

    func event(_ event: InstrumentEvent) {
      let type: OSLogType =
        switch event.level {
        case .debug: .debug
        case .info: .info
        case .warning: .default
        case .error: .error
        }
      logger.log(level: type, "\(event.description, privacy: .public)")
    }
  }
}

// The platform that a store runs on, passed in so that tests can simulate it.

/// The file system, clock and random source of a store. Code below the API obtains them only from here.
package struct Platform: Sendable {
  package var fileSystem: any FileSystem
  package var clock: any StoreClock
  package var random: any RandomSource
  /// A safety rule that the platform breaks deliberately. Only the mutants campaign sets it, to check that a
  /// test then fails.
  package var brokenRule: Rule?

  package init(fileSystem: any FileSystem, clock: any StoreClock, random: any RandomSource) {
    self.fileSystem = fileSystem
    self.clock = clock
    self.random = random
  }

  package func keeps(_ rule: Rule) -> Bool { brokenRule != rule }

  /// The machine that the process runs on.
  package static var real: Platform {
    Platform(fileSystem: PosixFileSystem(), clock: SystemClock(), random: SystemRandom())
  }
}

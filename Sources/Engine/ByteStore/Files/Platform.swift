// What a store takes from the world around it, passed in so that tests can play the world.

/// The files, the time and the dice that a store uses. Nothing below the API reaches for them elsewhere.
package struct Platform: Sendable {
  package var fileSystem: any FileSystem
  package var clock: any StoreClock
  package var random: any RandomSource
  /// Only the mutants campaign sets it, to see that some test notices.
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

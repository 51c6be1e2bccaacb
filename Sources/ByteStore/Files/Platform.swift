// What a store takes from the world around it, passed in so that tests can play the world.

/// The files, the time and the dice that a store uses. Nothing below the API reaches for them elsewhere.
package struct Platform: Sendable {
  package var fileSystem: any FileSystem
  package var clock: any StoreClock
  package var random: any RandomSource

  package init(fileSystem: any FileSystem, clock: any StoreClock, random: any RandomSource) {
    self.fileSystem = fileSystem
    self.clock = clock
    self.random = random
  }

  /// The machine that the process runs on.
  package static var real: Platform {
    Platform(fileSystem: PosixFileSystem(), clock: SystemClock(), random: SystemRandom())
  }
}

// The keyed hash whose values the key directory stores on disk.

internal import CDigest

/// SipHash-1-3 with the store's seed.
///
/// The hashes are written to disk as part of the key directory, so the seed must be stored with them. Swift's
/// own hashing draws a new seed in every process. The seed is secret, so that an attacker cannot prepare
/// colliding keys.
package struct KeyHash: Sendable {
  let seed: RandomID

  package init(seed: RandomID) { self.seed = seed }

  package func hash(_ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes {
      unsafe dugout_siphash13(seed.high, seed.low, $0.baseAddress, $0.count)
    }
  }
}

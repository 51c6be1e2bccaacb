// The hash of a key, as the tables of keys on disk have it.

internal import CDigest

/// SipHash-1-3 under a seed of the store.
///
/// The table of keys is written to disk, so its hash needs a seed that is kept with it, where Swift's own
/// hashing takes a new one in every process. And the seed is one that nobody outside knows, so that nobody
/// can prepare keys that collide.
package struct KeyHash: Sendable {
  let seed: RandomID

  package init(seed: RandomID) { self.seed = seed }

  package func hash(_ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes {
      unsafe dugout_siphash13(seed.high, seed.low, $0.baseAddress, $0.count)
    }
  }
}

// Complete transfers over calls that may be short or interrupted.

import Libc

extension OpenFile {
  /// Writes all of `bytes`, however often the system takes only a part.
  package func writeAll(
    _ bytes: RawSpan, at offset: UInt64, platform: Platform
  ) throws(SystemFailure) {
    var done = 0
    while done < bytes.byteCount {
      do throws(SystemFailure) {
        let taken = try write(bytes.extracting(droppingFirst: done), at: offset + UInt64(done))
        // A device that accepts no bytes and reports no error would cause an endless loop.
        guard taken > 0 else { throw SystemFailure(operation: "pwrite", path: path, code: EIO) }
        done += platform.keeps(.finishShortWrites) ? taken : bytes.byteCount
      } catch {
        guard error.code == EINTR else { throw error }
      }
    }
  }

  /// Syncs once and never retries. After a failed sync, the system may drop the pages that it could not
  /// write. The next sync would then succeed without those pages (docs/reliability.md, F4).
  package func syncOnce(_ platform: Platform) throws(SystemFailure) {
    do throws(SystemFailure) {
      try sync()
    } catch {
      guard platform.keeps(.neverRetrySync) else { return try sync() }
      throw error
    }
  }

  /// Reads `count` bytes at `offset`, or fewer if the file ends earlier.
  package func readAll(_ count: Int, at offset: UInt64) throws(SystemFailure) -> [UInt8] {
    // The empty array is a shared singleton without storage.
    guard count > 0 else { return [] }
    var failure: SystemFailure?
    // The memory is not zeroed first; only bytes that were read become part of the array.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, done in
      guard let start = UnsafeMutableRawPointer(memory.baseAddress) else { return }
      var target = unsafe MutableRawSpan(_unsafeStart: start, byteCount: count)
      do throws(SystemFailure) { done = try readWhole(at: offset, into: &target) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Fills `target` with the bytes from `offset` on and returns their count. The count is smaller than the
  /// size of `target` only if the file ends earlier.
  func readWhole(at offset: UInt64, into target: inout MutableRawSpan) throws(SystemFailure) -> Int {
    let count = target.byteCount
    var done = 0
    while done < count {
      do throws(SystemFailure) {
        var window = target._mutatingExtracting(droppingFirst: done)
        let readCount = try read(into: &window, at: offset + UInt64(done))
        if readCount == 0 { break }
        done += readCount
      } catch {
        guard error.code == EINTR else { throw error }
      }
    }
    return done
  }
}

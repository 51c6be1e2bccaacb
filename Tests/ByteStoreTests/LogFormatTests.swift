// Frames are bound to their file and their offset.

import Testing

@testable import ByteStore

struct LogFormatTests {
  private let file = RandomID(high: 1, low: 2)
  private let header = FrameHeader(
    kind: .commit, bodyBytes: 100, sequence: SequenceNumber(3), durableThrough: 4096, bodyCRC: 5)

  private var encoded: [UInt8] {
    var bytes: [UInt8] = []
    header.encode(into: &bytes, file: file, offset: 8192)
    return bytes
  }

  @Test func frameHeaderIsReadWhereItWasWritten() {
    #expect(FrameHeader(decoding: encoded.rawSpan, file: file, offset: 8192) == header)
  }

  @Test func frameHeaderAtAnotherOffsetIsInvalid() {
    #expect(FrameHeader(decoding: encoded.rawSpan, file: file, offset: 12288) == nil)
  }

  @Test func frameHeaderOfAnotherFileIsInvalid() {
    #expect(FrameHeader(decoding: encoded.rawSpan, file: RandomID(high: 1, low: 3), offset: 8192) == nil)
  }

  @Test func frameBodyAtAnotherOffsetHasAnotherChecksum() {
    let body = [UInt8](repeating: 9, count: 100)
    let here = FrameHeader.checksum(ofBody: body.rawSpan, file: file, offset: 8192)
    #expect(here != FrameHeader.checksum(ofBody: body.rawSpan, file: file, offset: 12288))
    #expect(here != FrameHeader.checksum(ofBody: body.rawSpan, file: .zero, offset: 8192))
  }
}

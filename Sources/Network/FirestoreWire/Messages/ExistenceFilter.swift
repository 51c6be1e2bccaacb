// Existence filters and Bloom filters.

extension Wire {
  /// The number of documents that match a target, to detect documents that a client lacks or has in excess.
  package struct ExistenceFilter: WireMessage {
    package var targetId: Int32 = 0
    package var count: Int32 = 0
    package var unchangedNames: BloomFilter?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.int32(1, "target_id", in: &targetId)
      try visitor.int32(2, "count", in: &count)
      try visitor.message(3, "unchanged_names", in: &unchangedNames)
    }
  }

  /// A Bloom filter of document names.
  package struct BloomFilter: WireMessage {
    package var bits: BitSequence?
    package var hashCount: Int32 = 0

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "bits", in: &bits)
      try visitor.int32(2, "hash_count", in: &hashCount)
    }
  }

  /// A sequence of bits.
  package struct BitSequence: WireMessage {
    package var bitmap: [UInt8] = []
    package var padding: Int32 = 0

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.bytes(1, "bitmap", in: &bitmap)
      try visitor.int32(2, "padding", in: &padding)
    }
  }
}

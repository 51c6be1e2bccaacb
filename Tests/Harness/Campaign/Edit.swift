// One commit of a workload: its puts and removals.

internal import ByteStore

struct Edit: Sendable, CustomStringConvertible {
  enum Operation: Sendable {
    case put(key: [UInt8], value: [UInt8])
    case remove(key: [UInt8])
  }

  let operations: [Operation]
  let stamp: UInt64
  let durability: Durability
  let batch: Batch

  init(_ operations: [Operation], stamp: UInt64, _ durability: Durability) {
    self.operations = operations
    self.stamp = stamp
    self.durability = durability
    var batch = Batch(stamp: stamp)
    do throws(ByteStoreError) {
      for operation in operations {
        switch operation {
        case .put(let key, let value): try batch.put(value, for: key)
        case .remove(let key): try batch.remove(key)
        }
      }
    } catch {
      preconditionFailure("a workload stays within the limits of a batch: \(error)")
    }
    self.batch = batch
  }

  var isRemovalOnly: Bool {
    operations.allSatisfy { if case .remove = $0 { true } else { false } }
  }

  func apply(to contents: inout Contents) {
    for operation in operations {
      switch operation {
      case .put(let key, let value): contents[key] = value
      case .remove(let key): contents[key] = nil
      }
    }
  }

  var description: String {
    let parts = operations.map { operation in
      switch operation {
      case .put(let key, let value): "put \(name(key)) \(value.count) bytes"
      case .remove(let key): "remove \(name(key))"
      }
    }
    return "\(durability) \(stamp): " + parts.joined(separator: ", ")
  }
}

/// The contents of a store.
typealias Contents = [[UInt8]: [UInt8]]

func name(_ key: [UInt8]) -> String { String(decoding: key, as: UTF8.self) }
